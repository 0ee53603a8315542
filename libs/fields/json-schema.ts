import { type FieldSpec, fieldsOf, nullMeansAbsent, type Shape } from './field.js';

const TYPES: Partial<Record<FieldSpec['kind'], string>> = {
  text: 'string',
  id: 'string',
  time: 'string',
  choice: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
};

type Schema = Record<string, unknown>;
type HasNull = (spec: FieldSpec) => boolean;

/** JSON Schema (2020-12) of what is sent, for models and MCP clients: what may be left out may also be null. */
export const inputSchemaOf = (shape: Shape): Schema =>
  schemaOf(shape, spec => spec.nullable || nullMeansAbsent(spec));

/** JSON Schema (2020-12) of what is answered. */
export const outputSchemaOf = (shape: Shape): Schema => schemaOf(shape, spec => spec.nullable);

function schemaOf(shape: Shape, hasNull: HasNull): Schema {
  const fields = [...fieldsOf(shape)];
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, spec]) => [name, fieldSchema(spec, hasNull)])),
    required: fields.filter(([, spec]) => !spec.optional).map(([name]) => name),
    additionalProperties: false,
  };
}

function fieldSchema(spec: FieldSpec, hasNull: HasNull): Schema {
  const value = valueSchema(spec, hasNull);
  const shown = spec.list ? { type: 'array', items: value } : value;
  return { ...(hasNull(spec) ? orNull(shown) : shown), description: spec.description };
}

/** A type of two is short, which counts: every model pays for each word. In an `enum` not all of them take null. */
function orNull(schema: Schema): Schema {
  const { type, enum: values, ...rest } = schema;
  if (type === undefined) return schema;
  return values ? { anyOf: [schema, { type: 'null' }] } : { type: [type, 'null'], ...rest };
}

function valueSchema({ kind, values, shape, schema }: FieldSpec, hasNull: HasNull): Schema {
  if (shape) return schemaOf(shape(), hasNull);
  if (kind === 'json') return {};
  if (kind === 'record') return { type: 'object', additionalProperties: true };
  const bounds = Object.fromEntries(
    Object.entries(schema).filter(
      ([name, bound]) => bound !== undefined && !(name === 'pattern' && isLong(bound)),
    ),
  );
  return { type: TYPES[kind], ...(values ? { enum: [...values] } : {}), ...bounds };
}

/** A pattern that nobody reads at sight, and that every model would pay for; who breaks it is told so in words. */
const isLong = (pattern: unknown): boolean => String(pattern).length > 120;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const BOUNDS = [
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'pattern',
  'format',
  'additionalProperties',
];

/**
 * The schema of an output without its descriptions, bounds and formats, and below its first level without what is required:
 * its names and types say enough, and every client pays for each word. Nor is it closed: fields may come.
 */
export function undescribed({ description: _, ...schema }: Schema): Schema {
  const { properties, items, anyOf } = schema;
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([name]) => !BOUNDS.includes(name))),
    ...(isSchema(properties) ? { properties: eachOf(properties) } : {}),
    ...(isSchema(items) ? { items: undescribed(items) } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(undescribed) } : {}),
  };
}

const eachOf = (properties: Schema): Schema =>
  Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, within(inner as Schema)]));

function within(inner: Schema): Schema {
  const { required: _, ...schema } = undescribed(inner);
  return isSchema(schema.items) ? { ...schema, items: within(schema.items) } : schema;
}
