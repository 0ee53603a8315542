import { BoundedSchema, SchemaFault } from './bounded-schema.js';
import { readJson } from './read-json.js';

/** What was asked for, or why it is not that. */
export type SchemaReading =
  | { readonly json: { readonly value: unknown }; readonly faults?: undefined }
  | { readonly json?: undefined; readonly faults: string[] };

/** Runs in a worker thread: what is wrong with a schema; null where it can be used. */
export function faultOfSchema(schema: unknown): string | null {
  try {
    BoundedSchema.compile(schema);
    return null;
  } catch (error) {
    if (error instanceof SchemaFault) return error.message;
    throw error;
  }
}

/** Runs in a worker thread: the JSON value in a text, or what is wrong with it by a schema that can be used. */
export function readBySchema({ schema, text }: { schema: unknown; text: string }): SchemaReading {
  const found = readJson(text);
  if ('fault' in found) return { faults: [`The answer is not JSON: ${found.fault}`] };
  const faults = BoundedSchema.compile(schema).faultsOf(found.value);
  return faults.length > 0 ? { faults } : { json: found };
}

/** Schemas that this thread understood lately, by their text; the oldest is forgotten. */
const understood = new Map<string, BoundedSchema>();
const MAX_UNDERSTOOD = 200;

/** Runs in a worker thread: what is wrong with a value, as sentences; empty where it fits. The schema is JSON. */
export function faultsOfValue({ schema, value }: { schema: string; value: unknown }): string[] {
  try {
    return understand(schema).faultsOf(value);
  } catch (error) {
    if (error instanceof SchemaFault) return [`its schema ${error.message}`];
    throw error;
  }
}

function understand(text: string): BoundedSchema {
  const schema = understood.get(text) ?? BoundedSchema.compile(JSON.parse(text));
  understood.delete(text);
  understood.set(text, schema);
  const [oldest] = understood.keys();
  if (understood.size > MAX_UNDERSTOOD && oldest !== undefined) understood.delete(oldest);
  return schema;
}
