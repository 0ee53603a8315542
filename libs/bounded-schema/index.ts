export { BoundedSchema, SchemaFault } from './bounded-schema.js';
export { readJson } from './read-json.js';
export { ResponseCheck } from './response-check.js';
export type { SchemaReading } from './schema-task.js';
