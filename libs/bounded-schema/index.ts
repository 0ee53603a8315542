export { BoundedSchema, SchemaFault } from './bounded-schema.js';
export { readJson } from './read-json.js';
