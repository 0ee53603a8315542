import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyInstance } from 'fastify';
import { BadRequest } from '../errors/index.js';

/** How long the rest of a body that was refused is read and thrown away. */
const LINGER_MS = 30_000;

/**
 * The bytes of a request, for one reader. Stopping before the end leaves the connection open, unlike reading the
 * request itself, so that it can still be answered. Throws BadRequest when the sender goes away before the end.
 */
export async function* bytesOf(request: Readable): AsyncGenerator<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw request.errored ? new BadRequest('The body was cut off') : error;
  }
}

/**
 * Lets who sends a body that is refused see the answer. It goes out whole at once, but the connection is closed only
 * when the rest of the body has been read and thrown away, or after a moment: closed while the other side still sends,
 * it would be reset, and the answer lost with it (RFC 9112 section 9.6).
 */
export function answerUnreadBodies(fastify: FastifyInstance): void {
  const stopping = new AbortController();
  fastify.addHook('preClose', async () => stopping.abort());
  fastify.addHook('onSend', ({ raw }, reply, payload, done) => {
    if (raw.complete || raw.destroyed || typeof payload !== 'string') return done(null, payload);
    void reply.headers({ connection: 'close', 'content-length': Buffer.byteLength(payload) });
    done(null, Readable.from(thenLinger(payload, raw, stopping.signal)));
  });
}

async function* thenLinger(
  payload: string,
  request: IncomingMessage,
  stopping: AbortSignal,
): AsyncGenerator<string> {
  yield payload;
  request.resume();
  const signal = AbortSignal.any([AbortSignal.timeout(LINGER_MS), stopping]);
  // However it ends: read to its end, given up by its sender, or too slow.
  await finished(request, { signal }).catch(() => undefined);
}
