/** The longest path of a file, in bytes of UTF-8. */
export const MAX_PATH_BYTES = 1024;

/** The longest request target, in characters. */
const MAX_TARGET_CHARACTERS = 8192;

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what they are looked for with.
const CONTROL = /[\x00-\x1f\x7f]/;

/** Why a file cannot have this name on a site; undefined: it can. The path is expected in NFC. */
export function faultOfPath(path: string): string | undefined {
  if (!path.isWellFormed() || path.includes('\ufffd')) return 'The name is not valid UTF-8.';
  if (CONTROL.test(path)) return 'The name has control characters.';
  if (path.includes('\\')) return 'The name has a backslash, which browsers turn into a slash.';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `The path is longer than ${MAX_PATH_BYTES} bytes.`;
  if (path.split('/').some(part => part === '' || part === '.' || part === '..'))
    return 'The path is not a plain relative path.';
  return undefined;
}

/** A request target (RFC 9112 section 3.2.1), decoded once. */
export interface Target {
  /** From `/`, percent-decoded once, in NFC. An encoded slash stays `%2F`: it does not separate. */
  path: string;
  /** Without the `?`; undefined where there is none. Not decoded. */
  query: string | undefined;
  /** It can name a file: no empty part but the last, no encoded slash, no backslash. */
  isPlain: boolean;
}

/** Most targets: nothing to decode, nothing to refuse. */
const SIMPLE = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*\/?$/;

/**
 * Reads a target in origin form, decoding it once (RFC 3986 section 2.4); a number is the status to refuse it with: 400 for dot
 * segments, NUL and other control characters, what is not UTF-8, and fragments; 414 beyond 8,192 characters.
 */
export function readTarget(target: string): Target | 400 | 414 {
  if (target.length > MAX_TARGET_CHARACTERS) return 414;
  const mark = target.indexOf('?');
  const raw = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? undefined : target.slice(mark + 1);
  if (SIMPLE.test(raw) && raw !== '') return query?.includes('#') ? 400 : { path: raw, query, isPlain: true };
  if (!raw.startsWith('/') || target.includes('#')) return 400;
  const parts: string[] = [];
  let isPlain = true;
  const encoded = raw.slice(1).split('/');
  for (const [index, part] of encoded.entries()) {
    const decoded = decoded1(part);
    if (decoded === undefined || decoded === '.' || decoded === '..' || CONTROL.test(decoded)) return 400;
    if (decoded.includes('/') || decoded.includes('\\')) isPlain = false;
    if (decoded === '' && index < encoded.length - 1) isPlain = false;
    parts.push(decoded.replaceAll('/', '%2F'));
  }
  return { path: `/${parts.join('/')}`.normalize('NFC'), query, isPlain };
}

function decoded1(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** A decoded path for `Location`: never `//host`, never a backslash, all of it ASCII. */
export function encodedPath(path: string): string {
  const encoded = path
    .toWellFormed()
    .split('/')
    .map(part =>
      encodeURIComponent(part)
        .replace(/%252F/g, '%2F')
        .replace(/%(?:40|3A|24|2C|2B|3D|26|3B)/g, unescape1),
    )
    .join('/');
  return encoded.replace(/^\/{2,}/, '/');
}

/** Delimiters that need no encoding within a path (RFC 3986 section 3.3). */
const unescape1 = (code: string) => decodeURIComponent(code);
