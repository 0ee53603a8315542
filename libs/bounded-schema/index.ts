export { BoundedSchema, SchemaFault } from './bounded-schema.js';
export { readJson } from './read-json.js';
export { ResponseCheck, type SchemaReading } from './response-check.js';
export type { SchemaText } from './schema-task.js';
