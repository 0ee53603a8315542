import { Invalid } from '../../../platform/errors/index.js';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** Servers decode these at different times, so that what was allowed may not be what is reached. */
const HIDDEN = /%(?:25)*(?:5c|2e|00|0a|0d)|%(?:25)+2f/i;
const ENCODED_SLASH = /%2f/i;
const MAX_PATH = 2000;

/**
 * A path as it is sent: it begins with a slash, and has no `..`, no encoded dot, and no backslash. An encoded slash is a part of a
 * name for some servers (a project of GitLab, a package of npm), and leads nowhere else for the others. Throws Invalid.
 */
export function requestPath(path: string, field = 'path'): string {
  if (!path.startsWith('/')) throw new Invalid(`${field} must begin with /`);
  if (path.length > MAX_PATH) throw new Invalid(`${field} must have at most ${MAX_PATH} characters`);
  if (HIDDEN.test(path)) throw new Invalid(`${field} must not have encoded backslashes, dots or line breaks`);
  if (/[\\?#\s\p{Cc}]/u.test(path))
    throw new Invalid(`${field} must be a path alone, without \\, ?, # and spaces`);
  const segments = path.split(/\/|%2f/i);
  if (segments.some(segment => segment === '.' || segment === '..'))
    throw new Invalid(`${field} must not have the segments . and ..`);
  if (segments.slice(1, -1).includes('')) throw new Invalid(`${field} must not have empty segments`);
  return new URL(path, 'https://x').pathname;
}

/** As {@link requestPath}, for comparing others with it: a grant names whole segments. */
export function normalPath(path: string, field: string): string {
  const normal = requestPath(path, field);
  if (ENCODED_SLASH.test(path)) throw new Invalid(`${field} must not have encoded slashes: write them out`);
  return normal;
}

/** Whether a path is below one of these: `/repos/acme` has `/repos/acme/x` and not `/repos/acme-two`. None: any. */
export const isBelow = (path: string, prefixes: readonly string[]): boolean =>
  prefixes.length === 0 ||
  prefixes.some(prefix => path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`));
