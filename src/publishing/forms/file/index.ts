export {
  answered,
  type FieldType,
  type FormDefinition,
  type FormField,
  LIMITS,
} from './form-definition.js';
export { DATE, TIME } from './form-fields.js';
export { type CheckedFile, FormFiles } from './form-files.js';
