import type { IncomingHttpHeaders } from 'node:http';
import type { Encoding } from './conditions.js';

/** What is asked of a site. */
export interface SiteRequest {
  /** As received: `GET`, `HEAD`; any other gets 405. */
  method: string;
  /** The request target in origin form as received, with its query. */
  path: string;
  /** As node:http has them: names in lower case. */
  headers: IncomingHttpHeaders;
  /** The name of the host, in lower case, without a port; for rules that are for one host. */
  host?: string;
}

/** The part of a blob that an answer consists of. */
export interface BlobBody {
  kind: 'blob';
  /** sha256 of the file as it is. */
  hash: string;
  /** Undefined: as it is. */
  encoding: Encoding | undefined;
  /** Bytes of the stored form. */
  size: number;
  /** The first byte to send, and the last: 0 and size - 1 for the whole. */
  start: number;
  end: number;
}

/** A sentence that this library wrote: the caller may answer a page of its own. */
export interface TextBody {
  kind: 'text';
  bytes: Buffer;
}

/** What is answered. It is shared between requests: never change it. */
export interface Answer {
  status: number;
  /** Name, value, name, value, … as `writeHead` takes them. */
  headers: readonly string[];
  /** Undefined: there is none, as for HEAD, 304 and redirects. */
  body?: BlobBody | TextBody;
}

/** An answer of one sentence, which nothing keeps. */
export function sentence(
  status: number,
  text: string,
  method: string,
  headers: readonly string[] = [],
): Answer {
  const bytes = Buffer.from(`${text}\n`);
  return {
    status,
    headers: [
      'Content-Type',
      'text/plain; charset=utf-8',
      'Content-Length',
      String(bytes.length),
      'Cache-Control',
      'no-store',
      'X-Content-Type-Options',
      'nosniff',
      ...headers,
    ],
    ...(method === 'HEAD' ? {} : { body: { kind: 'text', bytes } }),
  };
}
