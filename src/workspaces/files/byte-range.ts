import type { IncomingHttpHeaders } from 'node:http';
import { RangeNotSatisfiable } from '../../platform/errors/index.js';

/** An inclusive range of bytes. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A `Range` of one part (RFC 9110 section 14.2); undefined where the whole file is the answer. */
export function parseRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  if (start >= size)
    throw new RangeNotSatisfiable(`The file has ${size} bytes`, { 'content-range': `bytes */${size}` });
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return { start, end };
}

/** The range that a request asks for. `If-Range` with another ETag asks for the whole file (RFC 9110 section 13.1.5). */
export function rangeOf(headers: IncomingHttpHeaders, etag: string, size: number): ByteRange | undefined {
  const ifRange = headers['if-range'];
  return ifRange === undefined || ifRange === etag ? parseRange(headers.range, size) : undefined;
}
