type Schema = Readonly<Record<string, unknown>>;

/**
 * The fields that a model is told of, nested ones after a dot (`edits.path`), each with what its name does not say; '' where
 * that is nothing.
 */
export type FieldWords = Readonly<Record<string, string>>;

/** What a model need not read: it leaves out what it does not set, and what is wrong with a call its result says. */
const UNSAID: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'default',
  'additionalProperties',
]);
const NULL = 'null';

/**
 * A schema of ours as models are offered it, without what says nothing to them: it is sent with every request. With `told`
 * it has these fields alone; the others are still taken.
 */
export const leanSchema = (schema: Schema, told?: FieldWords): Schema => lean(schema, told, '') as Schema;

function lean(value: unknown, told: FieldWords | undefined, at: string): unknown {
  if (Array.isArray(value)) return value.map(one => lean(one, told, at));
  if (typeof value !== 'object' || value === null) return value;
  const { type, anyOf, properties, description, ...rest } = value as Schema;
  const kinds = Array.isArray(type) ? type.filter(one => one !== NULL) : [];
  const choices = Array.isArray(anyOf) ? anyOf.filter(one => (one as Schema).type !== NULL) : [];
  const [only] = choices.length === 1 ? choices : [];
  return {
    ...(type === undefined ? {} : { type: kinds.length === 1 ? kinds[0] : type }),
    ...(anyOf === undefined || only ? {} : { anyOf: lean(choices, told, at) }),
    ...(only ? (lean(only, told, at) as Schema) : {}),
    ...(properties === undefined ? {} : { properties: each(properties as Schema, told, at) }),
    ...Object.fromEntries(fields(rest).map(([name, field]) => [name, lean(field, told, at)])),
    ...(description === undefined || told ? {} : { description }),
  };
}

const fields = (schema: Schema) =>
  Object.entries(schema).filter(
    ([name, field]) => !UNSAID.has(name) && !(name === 'required' && isEmpty(field)),
  );

const isEmpty = (field: unknown): boolean => Array.isArray(field) && field.length === 0;

/** By the names of a caller's, which are none of ours to leave out. */
function each(properties: Schema, told: FieldWords | undefined, at: string): Schema {
  const named = Object.entries(properties).map(
    ([name, field]) => [name, field, at === '' ? name : `${at}.${name}`] as const,
  );
  const shown = named.filter(([, , path]) => !told || Object.hasOwn(told, path));
  const worded = (field: Schema, words: string | undefined) =>
    words ? { ...field, description: words } : field;
  return Object.fromEntries(
    shown.map(([name, field, path]) => [name, worded(lean(field, told, path) as Schema, told?.[path])]),
  );
}
