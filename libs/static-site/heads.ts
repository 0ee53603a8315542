import type { BlobBody } from './answer.js';
import { type Encoding, etagOf } from './conditions.js';
import type { SiteFile } from './manifest.js';

/** One stored form of a file with its headers, made once and sent often. */
export interface Form {
  etag: string;
  body: BlobBody;
  /** All of a 200. */
  whole: readonly string[];
  /** `Content-Type` and `Content-Encoding`. */
  described: readonly string[];
  /** What is left for a 304 (RFC 9110 section 15.4.5): neither of those, nor `Content-Length`. */
  bare: readonly string[];
}

/** Who may keep an answer (RFC 9111 section 5.2.2): anybody, or only the browser that asked. */
export type Cacheability = 'public' | 'private';

/** What differs between answers with the same file. */
export interface HeadOptions {
  cacheability: Cacheability;
  /** Of the rules that match the path, in their order. A later one replaces an earlier of the same name. */
  added: readonly (readonly [name: string, value: string])[];
  /** Ahead of what rules say: the version that it comes from. */
  extra: readonly string[];
  /** Request headers that the choice depended on, besides `Accept-Encoding`. */
  vary: readonly string[];
  /** In place of what the file's own would be: `no-store` for pages of errors. */
  cacheControl?: string;
}

/** The headers of a stored form of a file. */
export function formOf(file: SiteFile, encoding: Encoding | undefined, options: HeadOptions): Form {
  const size = encoding === undefined ? file.size : (file[encoding] ?? 0);
  const etag = etagOf(file, encoding);
  const added = new Map(options.added.map(([name, value]) => [name.toLowerCase(), [name, value] as const]));
  const type = take(added, 'content-type') ?? file.type;
  const vary = [
    ...(file.br === undefined && file.gz === undefined ? [] : ['Accept-Encoding']),
    ...options.vary,
    take(added, 'vary') ?? [],
  ].flat();
  const cache = cacheControl(file, options, take(added, 'cache-control'));
  const bare = [
    'Cache-Control',
    cache,
    ...(options.cacheControl === undefined ? ['ETag', etag, 'Accept-Ranges', 'bytes'] : []),
    ...(vary.length > 0 ? ['Vary', vary.join(', ')] : []),
    ...(added.has('x-content-type-options') ? [] : ['X-Content-Type-Options', 'nosniff']),
    ...options.extra,
    ...[...added.values()].flat(),
  ];
  const described = [
    'Content-Type',
    type,
    ...(encoding ? ['Content-Encoding', encoding === 'br' ? 'br' : 'gzip'] : []),
  ];
  return {
    etag,
    body: { kind: 'blob', hash: file.hash, encoding, size, start: 0, end: size - 1 },
    whole: [...described, 'Content-Length', String(size), ...bare],
    described,
    bare,
  };
}

function take(headers: Map<string, readonly [string, string]>, name: string): string | undefined {
  const value = headers.get(name)?.[1];
  headers.delete(name);
  return value;
}

function cacheControl(file: SiteFile, options: HeadOptions, asked: string | undefined): string {
  if (options.cacheControl !== undefined) return options.cacheControl;
  if (asked !== undefined) return options.cacheability === 'public' ? asked : keptPrivate(asked);
  return `${options.cacheability}, ${file.hashed ? 'max-age=31536000, immutable' : 'max-age=0, must-revalidate'}`;
}

/** What a rule asks for, where no shared cache may keep the answer. */
function keptPrivate(asked: string): string {
  const directives = asked
    .split(',')
    .map(directive => directive.trim())
    .filter(
      directive => directive !== '' && !/^(public|private|s-maxage|proxy-revalidate)\b/i.test(directive),
    );
  return ['private', ...directives].join(', ');
}
