import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { bytesOf } from '#libs/fastify-hardening/index.js';
import { BadRequest } from '../../platform/errors/index.js';

/** Conditions of a write (RFC 9110 section 13): the ETag it replaces, or that there is nothing yet. */
export interface Preconditions {
  ifMatch?: string;
  ifNoneMatch?: '*';
}

const ONE_ETAG = /^(\*|(W\/)?"[^"]*")$/;

/** Refuses conditions that it cannot keep. */
export function preconditionsOf(headers: IncomingHttpHeaders): Preconditions {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  // RFC 9110 section 14.5: a part must not be taken for the whole.
  if (headers['content-range'] !== undefined)
    throw new BadRequest('Content-Range is not taken: send the whole file without it');
  if (ifMatch !== undefined && !ONE_ETAG.test(ifMatch))
    throw new BadRequest('If-Match takes one ETag, in its quotes, or *');
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*')
    throw new BadRequest('If-None-Match takes only * on a write');
  return { ifMatch, ifNoneMatch };
}

export interface ReceivedBody {
  bytes: AsyncIterable<Uint8Array>;
  expectedBytes?: number;
}

export function receiveBody({ headers, body }: FastifyRequest): ReceivedBody {
  const length = Number(headers['content-length']);
  return {
    bytes: bytesOf(body instanceof Readable ? body : Readable.from([])),
    expectedBytes: Number.isSafeInteger(length) ? length : undefined,
  };
}
