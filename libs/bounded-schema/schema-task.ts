import { LRUCache } from 'lru-cache';
import { BoundedSchema, SchemaFault } from './bounded-schema.js';
import { readJson } from './read-json.js';

/** The JSON text that was asked for, or why there is none. */
export type SchemaText =
  | { readonly json: string; readonly faults?: undefined }
  | { readonly json?: undefined; readonly faults: string[] };

/** Runs in a worker thread: what is wrong with a schema, which is JSON; null where it can be used. */
export function faultOfSchema(schema: string): string | null {
  try {
    BoundedSchema.compile(JSON.parse(schema));
    return null;
  } catch (error) {
    if (error instanceof SchemaFault) return error.message;
    throw error;
  }
}

/** Runs in a worker thread: the JSON in a text, or what is wrong with it by a schema, which is JSON and can be used. */
export function readBySchema({ schema, text }: { schema: string; text: string }): SchemaText {
  const found = readJson(text);
  if ('fault' in found) return { faults: [`The answer is not JSON: ${found.fault}`] };
  const faults = BoundedSchema.compile(JSON.parse(schema)).faultsOf(JSON.parse(found.text));
  return faults.length > 0 ? { faults } : { json: found.text };
}

/** Schemas that this thread understood lately, by their text. */
const understood = new LRUCache<string, BoundedSchema>({
  max: 200,
  memoMethod: text => BoundedSchema.compile(JSON.parse(text)),
});

/** Runs in a worker thread: what is wrong with a value, as sentences; empty where it fits. Both are JSON: messages hold no exact numbers. */
export function faultsOfValue({ schema, value }: { schema: string; value: string }): string[] {
  try {
    return understood.memo(schema).faultsOf(JSON.parse(value));
  } catch (error) {
    if (error instanceof SchemaFault) return [`its schema ${error.message}`];
    throw error;
  }
}
