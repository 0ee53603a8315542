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
