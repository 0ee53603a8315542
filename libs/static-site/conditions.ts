import { LRUCache } from 'lru-cache';
import type { SiteFile } from './manifest.js';

/** A form in which a blob is stored. */
export type Encoding = 'br' | 'gz';

/** The first 22 characters of the base64url hash (132 bits), with the encoding: each form is another representation. */
export function etagOf(file: SiteFile, encoding: Encoding | undefined): string {
  const short = Buffer.from(file.hash.slice(0, 34), 'hex').toString('base64url').slice(0, 22);
  return `"${short}${encoding === undefined ? '' : `-${encoding}`}"`;
}

/** `If-Match` (RFC 9110 section 13.1.1), by the strong comparison. */
export function isMatch(header: string, etag: string): boolean {
  return header.trim() === '*' || header.split(',').some(candidate => candidate.trim() === etag);
}

/** The first and the last byte. */
export interface Range {
  start: number;
  end: number;
}

/**
 * A `Range` of one part (RFC 9110 section 14.2); undefined: the whole is answered, also for several parts and what is not in
 * bytes; `'unsatisfiable'`: 416.
 */
export function rangeOf(header: string, size: number): Range | 'unsatisfiable' | undefined {
  const match = /^bytes=[ \t]*(\d{0,18})-(\d{0,18})[ \t]*$/i.exec(header);
  if (!match) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    if (Number(last) === 0) return 'unsatisfiable';
    return size === 0 ? undefined : { start: Math.max(0, size - Number(last)), end: size - 1 };
  }
  if (last !== '' && BigInt(last) < BigInt(first)) return undefined;
  if (Number(first) >= size) return 'unsatisfiable';
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** What a client takes, best first; without an entry: only the file as it is. */
type Accepted = readonly Encoding[];

const NONE: Accepted = [];

/** Clients send few different values: each is read once. */
const known = new LRUCache<string, Accepted>({ max: 256 });

/** Reads `Accept-Encoding` (RFC 9110 section 12.5.3): br before gzip, unless their weights say otherwise. */
export function acceptedEncodings(header: string | undefined): Accepted {
  if (header === undefined || header === '') return NONE;
  const found = known.get(header);
  if (found) return found;
  const accepted = readAccepted(header.slice(0, 1000));
  if (header.length <= 200) known.set(header, accepted);
  return accepted;
}

function readAccepted(header: string): Accepted {
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map(part => part.trim());
    const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice(2) ?? '1';
    weights.set(
      name === 'x-gzip' ? 'gzip' : name,
      /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0,
    );
  }
  const rest = weights.get('*') ?? 0;
  const br = weights.get('br') ?? rest;
  const gzip = weights.get('gzip') ?? rest;
  // Unnamed, the file as it is comes last (section 12.5.3, rule 2).
  const identity = weights.get('identity') ?? 0;
  const forms: [Encoding, number][] =
    br >= gzip
      ? [
          ['br', br],
          ['gz', gzip],
        ]
      : [
          ['gz', gzip],
          ['br', br],
        ];
  return forms.filter(([, weight]) => weight > 0 && weight >= identity).map(([encoding]) => encoding);
}
