import { ValidateBy, type ValidationOptions } from 'class-validator';
import { isMailAddress } from '../text/index.js';

export const IsMailAddress = (options: ValidationOptions): PropertyDecorator =>
  ValidateBy(
    { name: 'isMailAddress', validator: { validate: isMailAddress } },
    { ...options, message: '$property must be an e-mail address' },
  );

/** Refuses what PostgreSQL's text type cannot hold and no encoder can write: NUL and lone surrogates. */
export const IsStorableText = (options: ValidationOptions): PropertyDecorator =>
  ValidateBy(
    {
      name: 'isStorableText',
      validator: {
        validate: value => typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0')),
        defaultMessage: () => '$property must be well-formed text without NUL characters',
      },
    },
    options,
  );

/**
 * Whether a text has `min` to `max` characters (code points). Looks at no more of it than it takes: it may have millions,
 * whether that is allowed or not.
 */
function hasCharacters(text: string, min: number, max: number): boolean {
  if (text.length < min || text.length > 2 * max) return false;
  if (text.length >= 2 * min && text.length <= max) return true;
  let characters = text.length;
  for (let at = 1; at < text.length; at++) {
    const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
    if (isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) characters--;
  }
  return characters >= min && characters <= max;
}

export function HasCharacters(min: number, max: number, options: ValidationOptions): PropertyDecorator {
  const bounds = min > 0 ? `${min} to ${max}` : `at most ${max}`;
  return ValidateBy(
    {
      name: 'hasCharacters',
      validator: {
        validate: value => typeof value === 'string' && hasCharacters(value, min, max),
        defaultMessage: () => `$property must have ${bounds} characters`,
      },
    },
    options,
  );
}
