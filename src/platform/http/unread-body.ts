import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyInstance } from 'fastify';

/** How long the rest of a body that was refused is read and thrown away. */
const LINGER_MS = 5_000;

/**
 * The bytes of a request, for one reader. Stopping before the end leaves the connection open, unlike reading the
 * request itself, so that it can still be answered.
 */
export function bytesOf(request: Readable): AsyncIterable<Buffer> {
  return { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) };
}

/**
 * Lets who sends a body that is refused see the answer. It goes out whole at once, but the connection is closed only
 * when the rest of the body has been read and thrown away, or after a moment: closed while the other side still sends,
 * it would be reset, and the answer lost with it (RFC 9112 section 9.6).
 */
export function answerUnreadBodies(fastify: FastifyInstance): void {
  fastify.addHook('onSend', async ({ raw }, reply, payload) => {
    if (raw.complete || raw.destroyed || typeof payload !== 'string') return payload;
    void reply.headers({ connection: 'close', 'content-length': Buffer.byteLength(payload) });
    return Readable.from(thenLinger(payload, raw));
  });
}

async function* thenLinger(payload: string, request: IncomingMessage): AsyncGenerator<string> {
  yield payload;
  request.resume();
  // However it ends: read to its end, given up by its sender, or too slow.
  await finished(request, { signal: AbortSignal.timeout(LINGER_MS) }).catch(() => undefined);
}
