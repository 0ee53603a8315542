export { DeletedView } from './deleted.view.js';
export { Field } from './field.js';
export { type FieldSpec, fieldsOf, nullMeansAbsent, type Shape } from './field-spec.js';
export { assertValid, fieldOfParam, hydrate, Input, InputBesideBody } from './input.js';
export { DEFAULT_LIMIT, decodeCursor, encodeCursor, type Page, PageInput, PageOf, pageOf } from './page.js';
export { SAMPLE_IDS } from './sample-ids.js';
