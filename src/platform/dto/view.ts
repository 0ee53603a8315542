import { fieldsOf } from '#libs/fields/index.js';

/**
 * The view of a row: the fields of its shape, as the row has them, with times in ISO 8601. `more` gives those that the row
 * has not, or has otherwise.
 */
export function toView<V extends object, More extends Partial<V> = Record<never, never>>(
  shape: new () => V,
  row: Omit<V, keyof More>,
  more?: More,
): V {
  const values: Record<string, unknown> = { ...row, ...more };
  const view: Record<string, unknown> = {};
  for (const [name, { kind }] of fieldsOf(shape)) {
    const value = values[name];
    view[name] = kind === 'time' && value ? new Date(value as string | Date).toISOString() : value;
  }
  return view as V;
}
