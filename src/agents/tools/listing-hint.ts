/**
 * The action that lists what a field of `action` is the id of: `site_list` for `site_id`, and for the `id` of `site_unlock`.
 * Undefined where none of `names` does.
 */
export function listingOf(action: string, field: string, names: ReadonlySet<string>): string | undefined {
  const words = action.split('_');
  const noun = field.replace(/_?id$/, '');
  const nouns =
    noun === ''
      ? words.map((_, index) => words.slice(0, -index || undefined).join('_'))
      : [`${words[0]}_${noun}`, noun];
  return nouns.map(one => `${one}_list`).find(name => name !== action && names.has(name));
}
