type Schema = Readonly<Record<string, unknown>>;

/** What a model need not read: it leaves out what it does not set, and what is wrong with a call its result says. */
const UNSAID: ReadonlySet<string> = new Set(['minLength', 'maxLength', 'additionalProperties']);
const NULL = 'null';

/**
 * A schema of ours as models are offered it, without what says nothing to them: it is sent with every request. The fields
 * `without` are still taken.
 */
export function leanSchema(schema: Schema, without: readonly string[] = []): Schema {
  const { properties, ...rest } = lean(schema) as Schema & { properties?: Schema };
  if (!properties) return rest;
  const left = Object.entries(properties).filter(([name]) => !without.includes(name));
  return { ...rest, properties: Object.fromEntries(left) };
}

function lean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lean);
  if (typeof value !== 'object' || value === null) return value;
  const { type, anyOf, ...rest } = value as Schema;
  const kinds = Array.isArray(type) ? type.filter(one => one !== NULL) : [];
  const choices = Array.isArray(anyOf) ? anyOf.filter(one => (one as Schema).type !== NULL) : [];
  const [only] = choices.length === 1 ? choices : [];
  return {
    ...(type === undefined ? {} : { type: kinds.length === 1 ? kinds[0] : type }),
    ...(anyOf === undefined || only ? {} : { anyOf: lean(choices) }),
    ...(only ? (lean(only) as Schema) : {}),
    ...Object.fromEntries(
      fields(rest).map(([name, field]) => [name, name === 'properties' ? each(field) : lean(field)]),
    ),
  };
}

const fields = (schema: Schema) =>
  Object.entries(schema).filter(
    ([name, field]) => !UNSAID.has(name) && !(name === 'required' && isEmpty(field)),
  );

const isEmpty = (field: unknown): boolean => Array.isArray(field) && field.length === 0;

/** By the names of a caller's, which are none of ours to leave out. */
const each = (properties: unknown): Schema =>
  Object.fromEntries(Object.entries(properties as Schema).map(([name, field]) => [name, lean(field)]));
