import { EgressRefusal } from '../refusal.js';

const PATH = /^\/[\x21-\x22\x24-\x3e\x40-\x7e]*$/;
const MAX_PATH = 8_192;
const ENCODED_SLASH = /%2f/i;
/** Backslash, dot, control characters. */
const HIDDEN = /\\|%(?:5c|2e|[01][0-9a-f]|7f)/i;
/** The same, and slashes, semicolons and percent signs, after one round of decoding. */
const HIDDEN_TWICE = /%(?:2[ef5]|5c|3b|[01][0-9a-f]|7f)/i;
/** How npm writes the name of a package of a scope, wherever it lies: `/@acme%2ftool` is `/@acme/tool`. */
const SCOPED_PACKAGE = /(?<=\/@[\w.~-]{1,214})%2f/i;

/**
 * Names what a server could read as another path than we do; undefined where there is one reading. An encoded slash is a part of a
 * name for some servers (a project of GitLab, a package of npm), and leads nowhere else for the others.
 */
export function pathFault(path: string): string | undefined {
  if (path.length > MAX_PATH) return `more than ${MAX_PATH} characters`;
  if (!PATH.test(path)) return 'characters that a path has not';
  if (HIDDEN.test(path)) return 'a backslash, or an encoded dot or backslash or control character';
  const decoded = decode(path);
  if (decoded === undefined) return 'a percent sign that begins no UTF-8 character';
  if (HIDDEN_TWICE.test(decoded)) return 'an escape within an escape';
  const segments = decoded.split('/');
  if (segments.slice(1, -1).includes('')) return 'empty segments';
  // Some servers fold wide and small forms of dots and slashes.
  if (decoded.normalize('NFKC').split(/[/\\]/).some(isDots)) return '".." or "." as a segment';
  return undefined;
}

function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** A segment that leads to another folder. Servers cut off parameters (`..;x`); Windows cuts off spaces and dots at the end. */
const isDots = (segment: string): boolean => /^\.[. ]*(?:;.*)?$/.test(segment);

/**
 * The path of a request target, without its query.
 *
 * @throws EgressRefusal for what a server might read as another path than we do
 */
export function pathOf(target: string): string {
  const [path = ''] = target.split('?', 1);
  const fault = pathFault(path);
  if (fault) throw new EgressRefusal('path', `The path has ${fault}: write it out`);
  return path;
}

/**
 * A prefix of paths in its one form: whole segments, no slash at the end.
 *
 * @throws EgressRefusal with what is wrong with it
 */
export function normalizePrefix(raw: string): string {
  if (raw.includes('?') || raw.includes('#'))
    throw new EgressRefusal('path', `${JSON.stringify(raw.slice(0, 100))} has more than a path`);
  if (ENCODED_SLASH.test(raw)) throw new EgressRefusal('path', 'A prefix has no encoded slash: write it out');
  const path = pathOf(`/${raw}`.replace(/\/{2,}/g, '/'));
  return path.endsWith('/') && path !== '/' ? path.slice(0, -1) : path;
}

/**
 * The prefix that a path lies below: `/repos/acme` has `/repos/acme/x` and not `/repos/acme-two`. An encoded slash in what follows
 * the prefix changes nothing: whether a server takes it for a slash or for a part of a name, the path stays below.
 */
export function prefixOf(prefixes: readonly string[], raw: string): string | undefined {
  const path = raw.replace(SCOPED_PACKAGE, '/');
  return prefixes.find(prefix => prefix === '/' || path === prefix || path.startsWith(`${prefix}/`));
}
