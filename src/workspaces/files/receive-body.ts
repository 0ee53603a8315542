import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { bytesOf } from '../../platform/bodies/index.js';

/** The raw bytes of a request, and what is known of them. */
export interface ReceivedBody {
  bytes: AsyncIterable<Uint8Array>;
  /** Their number, where the sender says so. */
  expectedBytes?: number;
}

export function receiveBody({ headers, body }: FastifyRequest): ReceivedBody {
  const length = Number(headers['content-length']);
  return {
    bytes: bytesOf(body instanceof Readable ? body : Readable.from([])),
    expectedBytes: Number.isSafeInteger(length) ? length : undefined,
  };
}
