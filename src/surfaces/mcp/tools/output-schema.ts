type Schema = Record<string, unknown>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schema without its descriptions: the names of an output say enough, and every client pays for each word. */
export function undescribed({ description: _, ...schema }: Schema): Schema {
  const { properties, items, anyOf } = schema;
  return {
    ...schema,
    ...(isSchema(properties) ? { properties: eachOf(properties) } : {}),
    ...(isSchema(items) ? { items: undescribed(items) } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(undescribed) } : {}),
  };
}

const eachOf = (properties: Schema): Schema =>
  Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, undescribed(inner as Schema)]));
