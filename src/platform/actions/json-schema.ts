import { FieldSpec, fieldsOf, Shape } from '../http/field.js';

const TYPES: Partial<Record<FieldSpec['kind'], string>> = {
  text: 'string',
  id: 'string',
  time: 'string',
  choice: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
};

/** JSON Schema (2020-12) of a shape, as models and MCP clients get it. Fields in `without` are left out. */
export function jsonSchemaOf(shape: Shape, without: readonly string[] = []): Record<string, unknown> {
  const fields = [...fieldsOf(shape)].filter(([name]) => !without.includes(name));
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, spec]) => [name, fieldSchema(spec)])),
    required: fields.filter(([, spec]) => !spec.optional).map(([name]) => name),
    additionalProperties: false,
  };
}

function fieldSchema(spec: FieldSpec): Record<string, unknown> {
  const value = valueSchema(spec);
  const shown = spec.list ? { type: 'array', items: value } : value;
  const schema = spec.nullable ? { anyOf: [shown, { type: 'null' }] } : shown;
  return { ...schema, description: spec.description };
}

function valueSchema({ kind, values, shape, schema }: FieldSpec): Record<string, unknown> {
  if (shape) return jsonSchemaOf(shape());
  if (kind === 'json') return {};
  if (kind === 'record') return { type: 'object', additionalProperties: true };
  const bounds = Object.fromEntries(Object.entries(schema).filter(([, bound]) => bound !== undefined));
  return { type: TYPES[kind], ...(values ? { enum: [...values] } : {}), ...bounds };
}
