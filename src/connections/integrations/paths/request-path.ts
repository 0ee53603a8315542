import { Invalid } from '../../../platform/errors/index.js';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** Servers decode these at different times, so that what was allowed may not be what is reached. */
const HIDDEN = /%(2f|5c|2e|00|0a|0d)/i;
const MAX_PATH = 2000;

/**
 * A path as it is sent and compared: it begins with a slash, and has no `..`, no encoded slash or dot, and no backslash.
 * Throws Invalid.
 */
export function normalPath(path: string, field = 'path'): string {
  if (!path.startsWith('/')) throw new Invalid(`${field} must begin with /`);
  if (path.length > MAX_PATH) throw new Invalid(`${field} must have at most ${MAX_PATH} characters`);
  if (HIDDEN.test(path)) throw new Invalid(`${field} must not have encoded slashes, dots or line breaks`);
  if (/[\\?#\s\p{Cc}]/u.test(path))
    throw new Invalid(`${field} must be a path alone, without \\, ?, # and spaces`);
  const segments = path.split('/');
  if (segments.some(segment => segment === '.' || segment === '..'))
    throw new Invalid(`${field} must not have the segments . and ..`);
  if (segments.slice(1, -1).includes('')) throw new Invalid(`${field} must not have empty segments`);
  return new URL(path, 'https://x').pathname;
}

/** Whether a path is below one of these: `/repos/acme` has `/repos/acme/x` and not `/repos/acme-two`. None: any. */
export const isBelow = (path: string, prefixes: readonly string[]): boolean =>
  prefixes.length === 0 ||
  prefixes.some(prefix => path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`));
