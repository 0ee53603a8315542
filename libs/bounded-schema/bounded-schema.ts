import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { withinTime } from './within-time.js';

/** What is wrong with a schema, in a sentence for its author. */
export class SchemaFault extends Error {}

const MAX_BYTES = 32 * 1024;
const MAX_DEPTH = 32;
const MAX_COMPILE_MS = 3_000;
const MAX_CHECK_MS = 1_000;
const MAX_FAULTS = 10;

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;
const DRAFT_2020 = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** RE2's syntax, whose time is proportional to the text: JavaScript's own patterns can be made to take for ever. */
const linear = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern);
    // ajv tells patterns apart by their text.
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern };
  },
  { code: 'linear' },
);

/**
 * A JSON Schema (2020-12, or draft-07 where `$schema` says so) from an untrusted source: bounded in size and depth,
 * without references to elsewhere, and each use of it bounded in time. `format` is not checked.
 */
export class BoundedSchema {
  private constructor(private readonly check: ValidateFunction) {}

  /** Throws SchemaFault where it is no schema, or not one that is accepted. */
  static compile(schema: unknown): BoundedSchema {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
      throw new SchemaFault('must be a JSON Schema, which is an object');
    const size = Buffer.byteLength(JSON.stringify(schema));
    if (size > MAX_BYTES) throw new SchemaFault(`must have at most ${MAX_BYTES} bytes, not ${size}`);
    if (isDeeper(schema, MAX_DEPTH)) throw new SchemaFault(`must not be nested deeper than ${MAX_DEPTH}`);
    const { $id: _, ...anonymous } = schema as Record<string, unknown>;
    const draft = draftOf(anonymous.$schema);
    const meta = metaSchemaOf(draft);
    const check = withinTime(MAX_COMPILE_MS, () => compiled(anonymous, draft, meta));
    if (check === undefined) throw new SchemaFault('takes too long to be understood; make it simpler');
    if ('$async' in check) throw new SchemaFault('must not have $async');
    return new BoundedSchema(check);
  }

  /** What is wrong with a value, as sentences that name the place; empty where it fits. */
  faultsOf(value: unknown): string[] {
    const faults = withinTime(MAX_CHECK_MS, () => this.findFaults(value));
    return faults ?? ['(whole value): could not be checked in time; make it smaller'];
  }

  private findFaults(value: unknown): string[] {
    return this.check(value) ? [] : (this.check.errors ?? []).slice(0, MAX_FAULTS).map(sentence);
  }
}

const BASIC = { strict: false, validateFormats: false, logger: false } as const;

/** One for each draft: to understand the schema of schemas takes a hundred times as long as to understand a schema. */
const metaSchemas = new Map<typeof Ajv | typeof Ajv2020, Ajv | Ajv2020>();

function metaSchemaOf(draft: typeof Ajv | typeof Ajv2020): Ajv | Ajv2020 {
  const known = metaSchemas.get(draft);
  if (known) return known;
  const meta = new draft(BASIC);
  // Now, and not in the time that a schema is given.
  meta.validateSchema({});
  metaSchemas.set(draft, meta);
  return meta;
}

function compiled(
  { $schema: _, ...schema }: Record<string, unknown>,
  Draft: typeof Ajv | typeof Ajv2020,
  meta: Ajv | Ajv2020,
): ValidateFunction {
  if (meta.validateSchema(schema) !== true)
    throw new SchemaFault(`is no JSON Schema: ${(meta.errors ?? []).slice(0, 3).map(sentence).join('; ')}`);
  return checkOf(schema, Draft);
}

function checkOf(schema: Record<string, unknown>, Draft: typeof Ajv | typeof Ajv2020): ValidateFunction {
  // A new one for each schema: it keeps all that it has seen.
  const code = { regExp: linear };
  const own = new Draft({
    ...BASIC,
    code,
    allErrors: true,
    inlineRefs: false,
    meta: false,
    validateSchema: false,
  });
  try {
    return own.compile(schema);
  } catch (error) {
    if (error instanceof RangeError) throw new SchemaFault('must not refer to itself without end');
    throw new SchemaFault(`cannot be used: ${error instanceof Error ? error.message : error}`);
  }
}

function draftOf(named: unknown): typeof Ajv | typeof Ajv2020 {
  if (named === undefined || (typeof named === 'string' && DRAFT_2020.test(named))) return Ajv2020;
  if (typeof named === 'string' && DRAFT_07.test(named)) return Ajv;
  throw new SchemaFault('has a $schema other than that of 2020-12 or draft-07');
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some(inner => isDeeper(inner, levels - 1));
}

function sentence({ instancePath, message, params }: ErrorObject): string {
  const { allowedValues, additionalProperty } = params as Record<string, unknown>;
  const values = Array.isArray(allowedValues)
    ? `: ${allowedValues
        .slice(0, 20)
        .map(value => JSON.stringify(value))
        .join(', ')}`
    : '';
  const extra = typeof additionalProperty === 'string' ? ` ("${additionalProperty}")` : '';
  return `${instancePath || '(whole value)'}: ${message ?? 'does not fit'}${values}${extra}`.slice(0, 500);
}
