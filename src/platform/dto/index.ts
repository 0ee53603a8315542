export { Field, type FieldSpec, fieldsOf, nullMeansAbsent, SAMPLE_IDS, type Shape } from './field.js';
export { assertValid, fieldOfParam, hydrate, Input, InputBesideBody } from './input.js';
export {
  DEFAULT_LIMIT,
  DeletedView,
  decodeCursor,
  encodeCursor,
  type Page,
  PageInput,
  PageOf,
  pageById,
  pageOf,
  readInstant,
} from './page.js';
