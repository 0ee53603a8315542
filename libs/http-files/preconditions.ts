import type { IncomingHttpHeaders } from 'node:http';
import { FileRefusal } from './refusal.js';

/** Conditions of a write (RFC 9110 section 13): the ETag it replaces, or that there is nothing yet. */
export interface Preconditions {
  ifMatch?: string;
  ifNoneMatch?: '*';
}

const ONE_ETAG = /^(\*|"[^"]*")$/;
const WEAK_ETAG = /^W\/"[^"]*"$/;

/** Refuses a form where the body is the bytes of one file: its boundaries would become part of the file. */
export function refuseForm(headers: IncomingHttpHeaders): void {
  if (/^\s*multipart\//i.test(headers['content-type'] ?? ''))
    throw new FileRefusal(
      415,
      'The body is a multipart form, and this takes the bytes of the file themselves: curl -T FILE, or --data-binary @FILE',
    );
}

/** Refuses conditions that it cannot keep. */
export function preconditionsOf(headers: IncomingHttpHeaders): Preconditions {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  // RFC 9110 section 14.5: a part must not be taken for the whole.
  if (headers['content-range'] !== undefined)
    throw new FileRefusal(400, 'Content-Range is not taken: send the whole file without it');
  if (ifMatch !== undefined && WEAK_ETAG.test(ifMatch))
    throw new FileRefusal(
      412,
      'If-Match holds a weak ETag (W/"…"), which never matches (RFC 9110 section 13.1.1): send the strong one, without W/',
    );
  if (ifMatch !== undefined && !ONE_ETAG.test(ifMatch))
    throw new FileRefusal(400, 'If-Match takes one ETag, in its quotes, or *');
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*')
    throw new FileRefusal(400, 'If-None-Match takes only * on a write');
  return { ifMatch, ifNoneMatch };
}
