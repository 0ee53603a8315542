import type { OpenAPIObject } from '@nestjs/swagger';

type Json = Record<string, unknown>;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** The schemas that a part of the description refers to, those that they refer to included, by name. */
function referredBy(part: unknown, schemas: Schemas, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    referredBy(schemas[name] ?? {}, schemas, found);
  }
  return found;
}

/**
 * Describes where null may stand: in what is sent, an optional field may be null, which is the same as leaving it out.
 * OpenAPI 3.0.3 makes `nullable` count only beside a `type`, and only where an `enum` lists null too.
 */
export function describeNulls({ paths, components }: OpenAPIObject): void {
  const schemas = components?.schemas ?? {};
  const bodies = Object.values(paths).flatMap(item =>
    Object.values(item as Record<string, Json>).map(({ requestBody = {} }) => requestBody),
  );
  const sent = referredBy(bodies, schemas);
  for (const [name, schema] of Object.entries(schemas)) {
    const { properties = {}, required = [] } = schema as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    for (const [field, property] of Object.entries(properties)) {
      if (sent.has(name) && !required.includes(field)) property.nullable = true;
      if (property.nullable === true) takeNull(property);
      else delete property.nullable;
    }
  }
}

function takeNull(property: Json): void {
  property.type ??= 'object';
  const { enum: values } = property;
  if (Array.isArray(values) && !values.includes(null)) property.enum = [...values, null];
}
