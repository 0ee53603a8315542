/** Fields whose values the author of a file wrote, with keys of their own. */
const VERBATIM = ['filter', 'responseSchema', 'input'];

/** A definition with the keys that the API has: `catchUpSeconds` is `catch_up_seconds`. */
export function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
      VERBATIM.includes(key) ? field : inSnakeCase(field),
    ]),
  );
}
