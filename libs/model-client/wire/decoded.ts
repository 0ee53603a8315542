import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const FLUSH = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const DECODERS: Record<string, () => Transform> = {
  gzip: () => createGunzip(FLUSH),
  'x-gzip': () => createGunzip(FLUSH),
  deflate: () => createInflate(FLUSH),
  br: () => createBrotliDecompress(),
};

/** The body of an answer. Nothing compressed is asked for, but some proxies compress all that passes through them. */
export function decoded(response: IncomingMessage): Readable {
  const open = DECODERS[response.headers['content-encoding']?.trim().toLowerCase() ?? ''];
  // Each of the two is told of the other's end and failure; who reads hears of it from the decoder.
  return open ? pipeline(response, open(), () => {}) : response;
}
