import type { Json } from './client.js';

const FORMATS: Json = { 'date-time': '2030-01-01T00:00:00Z', email: 'a@example.com' };

/**
 * An input that is valid for an action, as far as its schema tells: what is required, and the workspace. Ids are taken
 * from `ids` by the name of their field; any other is that of the workspace.
 */
export function sampleInput({ input_schema }: Json, ids: Record<string, string>): Json {
  const sample = (schema: Json, name: string): Json => {
    const { type: types, format, enum: values, minimum, items, anyOf } = schema;
    const [type] = [types].flat();
    if (ids[name] && type !== 'integer') return ids[name];
    if (anyOf) return sample(anyOf[0], name);
    if (values) return values[0];
    if (type === 'array') return [sample(items, '')];
    if (type === 'integer' || type === 'number') return minimum ?? 1;
    if (type === 'boolean') return true;
    if (type === 'object') return members(schema, schema.required ?? []);
    return format === 'uuid' ? ids.workspace_id : (FORMATS[format] ?? 'sample-text');
  };
  const members = ({ properties = {} }: Json, wanted: string[]): Json =>
    Object.fromEntries(
      Object.entries<Json>(properties)
        .filter(([name]) => wanted.includes(name))
        .map(([name, schema]) => [name, sample(schema, name)]),
    );
  return members(input_schema, [...(input_schema.required ?? []), 'workspace_id']);
}
