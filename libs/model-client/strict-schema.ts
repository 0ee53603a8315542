/** What OpenAI's strict mode knows: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
const KNOWN = new Set([
  'type',
  'description',
  'title',
  'enum',
  'const',
  'anyOf',
  '$ref',
  '$defs',
  'definitions',
  '$schema',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
]);

/** Whether OpenAI takes a schema in its strict mode, which refuses whole requests for schemas that it does not know. */
export function isStrict(schema: Record<string, unknown>): boolean {
  return schema.type === 'object' && isKnown(schema);
}

function isKnown(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const {
    type,
    properties = {},
    required,
    additionalProperties,
    items,
    anyOf,
    $defs,
    definitions,
  } = schema as Record<string, unknown>;
  if (!Object.keys(schema).every(key => KNOWN.has(key))) return false;
  if (type === 'object') {
    const names = Object.keys(properties as object);
    const all = Array.isArray(required) && names.every(name => required.includes(name));
    if (additionalProperties !== false || (names.length > 0 && !all)) return false;
  }
  const inner = [
    items,
    ...[anyOf ?? []].flat(),
    ...[properties, $defs, definitions].flatMap(map => Object.values(map ?? {})),
  ];
  return inner.filter(one => one !== undefined).every(isKnown);
}
