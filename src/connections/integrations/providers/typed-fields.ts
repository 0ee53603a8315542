import { Invalid } from '../../../platform/errors/index.js';
import type { ProviderDefinition } from './definition.js';

const MAX_VALUE = 8192;

/** Values that a person typed for a provider. */
export interface TypedFields {
  readonly secrets: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string>>;
}

/** Checks typed values; `before` fills in what was left out. Throws Invalid. */
export function readTyped(
  { fields = [] }: ProviderDefinition,
  given: Readonly<Record<string, unknown>>,
  before: TypedFields = { secrets: {}, settings: {} },
): TypedFields {
  const known = fields.map(({ name }) => name);
  for (const name of Object.keys(given))
    if (!known.includes(name))
      throw new Invalid(`fields.${name.slice(0, 60)} is not one of ${known.join(', ') || 'none'}`);
  const typed: Record<'secrets' | 'settings', Record<string, string>> = { secrets: {}, settings: {} };
  for (const { name, label, secret, default: standard } of fields) {
    const kind = secret ? 'secrets' : 'settings';
    const value = (Object.hasOwn(given, name) ? given[name] : undefined) ?? before[kind][name] ?? standard;
    const mayBeEmpty = !secret && standard !== undefined;
    if (value === undefined || (value === '' && !mayBeEmpty))
      throw new Invalid(`fields.${name} must be given: ${label}`);
    if (
      typeof value !== 'string' ||
      value.length > MAX_VALUE ||
      !value.isWellFormed() ||
      value.includes('\0')
    )
      throw new Invalid(`fields.${name} must be text of at most ${MAX_VALUE} characters`);
    typed[kind][name] = value;
  }
  return typed;
}
