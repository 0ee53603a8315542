export { ById } from './by-id.js';
export { Field, SAMPLE_IDS } from './field.js';
export { checked, fieldOfParam, Input, InputBesideBody } from './input.js';
export { LINE, NAME } from './name.js';
export {
  DEFAULT_LIMIT,
  DeletedView,
  decodeCursor,
  encodeCursor,
  ListById,
  type Page,
  PageInput,
  PageOf,
  pageById,
  pageOf,
  readInstant,
  readPage,
  selectPage,
} from './page.js';
export { toView } from './view.js';
