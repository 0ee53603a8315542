import { textOf } from '#libs/exact-json/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import type { Manifest } from './manifest.js';

export type Values = Readonly<Record<string, string>>;

/** The value of each parameter. Throws Invalid where one is missing, unknown or none of its choices. */
export function valuesOf(
  { parameters = [] }: Partial<Manifest>,
  given: Readonly<Record<string, unknown>>,
): Values {
  const names = parameters.map(({ name }) => name);
  for (const name of Object.keys(given))
    if (!names.includes(name))
      throw new Invalid(`The template has no parameter ${name}; it has ${names.join(', ') || 'none'}`);
  return Object.fromEntries(
    parameters.map(({ name, default: standard, choices }) => {
      const value = given[name] ?? standard;
      if (value === null) throw new Invalid(`The parameter ${name} is needed`);
      const text = textOf(value);
      if (choices.length > 0 && !choices.includes(text))
        throw new Invalid(`The parameter ${name} must be one of ${choices.join(', ')}`);
      return [name, text];
    }),
  );
}

/** Replaces each `{{ params.name }}` once, as text: a value that holds such a placeholder stays as it is. */
export const render = (text: string, values: Values): string =>
  text.replace(/\{\{ {0,8}params\.([a-z][a-z0-9_]{0,39}) {0,8}\}\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] as string) : whole,
  );
