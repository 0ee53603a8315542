export { type FieldSpec, fieldsOf, fieldsWith, nullMeansAbsent, type Shape } from './field.js';
export { coerce, InvalidInput, parseInput } from './input.js';
export { inputSchemaOf, outputSchemaOf, undescribed } from './json-schema.js';
export { isMailAddress } from './mail-address.js';
export { cutText, redact, storableText, withoutSecrets } from './redaction.js';
