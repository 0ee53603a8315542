/** The most levels of a sample; what is below is left out. */
const MAX_DEPTH = 8;

type Schema = Record<string, unknown>;

/** Something that a JSON Schema may well accept, as a stand-in for an answer: defaults, examples, and else empty values. */
export function sampleOf(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return null;
  const {
    $ref,
    const: constant,
    default: standard,
    examples,
    enum: values,
    anyOf,
    oneOf,
    allOf,
  } = schema as Schema;
  if (typeof $ref === 'string') return sampleOf(pointedAt(root, $ref), root, depth + 1);
  const given = [constant, standard, ...[examples ?? []].flat(), ...[values ?? []].flat()];
  const [first] = given.filter(value => value !== undefined);
  if (first !== undefined) return first;
  const [choice] = [anyOf ?? oneOf ?? allOf ?? []].flat();
  if (choice !== undefined) return sampleOf(choice, root, depth + 1);
  return plainSample(schema as Schema, root, depth);
}

function plainSample(
  { type, properties, required, items, minItems, minimum, minLength }: Schema,
  root: unknown,
  depth: number,
) {
  const kind = Array.isArray(type) ? type[0] : (type ?? (properties ? 'object' : 'null'));
  switch (kind) {
    case 'object': {
      const known = (properties ?? {}) as Schema;
      const names = Array.isArray(required) ? required.map(String) : [];
      return Object.fromEntries(names.map(name => [name, sampleOf(known[name], root, depth + 1)]));
    }
    case 'array':
      return Array.from({ length: Math.min(Number(minItems ?? 0), 10) }, () =>
        sampleOf(items, root, depth + 1),
      );
    case 'string':
      return 'demo'.padEnd(Math.min(Number(minLength ?? 0), 1_000), '.');
    case 'integer':
    case 'number':
      return Number(minimum ?? 0);
    case 'boolean':
      return false;
    default:
      return null;
  }
}

function pointedAt(root: unknown, reference: string): unknown {
  const steps = reference.startsWith('#/') ? reference.slice(2).split('/') : [];
  return steps.reduce<unknown>((value, step) => (value as Schema | undefined)?.[step], root);
}
