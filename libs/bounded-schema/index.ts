export { BoundedSchema, SchemaFault } from './bounded-schema.js';
export { readJson } from './read-json.js';
export type { SchemaReading } from './schema-task.js';
