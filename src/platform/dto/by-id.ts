import { Field } from './field.js';

/** Adds id fields, each with its description, to the class of an input. */
export function withIds<T extends object, F extends string>(
  shape: new () => T,
  ids: Record<F, string>,
): new () => T & ById<F> {
  for (const [field, description] of Object.entries<string>(ids))
    Field.id(description)(shape.prototype, field);
  return shape as new () => T & ById<F>;
}

/** Input that names something by its ids and says nothing else: `ById({ id: 'The key' })`. */
export const ById = <F extends string>(ids: Record<F, string>) => withIds(class {}, ids);
export type ById<F extends string = 'id'> = Record<F, string>;
