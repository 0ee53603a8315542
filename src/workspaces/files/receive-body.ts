import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** How long a refused upload is still read from, so that the sender gets to see the refusal. */
const LINGER_MS = 5_000;

interface BodyFacts {
  expectedBytes?: number;
  signal: AbortSignal;
}

/**
 * Gives `work` the raw bytes of a request. When it refuses them, the rest is read and thrown away for a moment: a sender
 * that is cut off while it sends would see a broken connection instead of the answer.
 */
export async function receiving<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  work: (bytes: Readable, facts: BodyFacts) => Promise<T>,
): Promise<T> {
  const length = Number(request.headers['content-length']);
  const abort = new AbortController();
  const onClose = () => abort.abort();
  request.raw.once('aborted', onClose);
  try {
    return await work(request.body instanceof Readable ? request.body : Readable.from([]), {
      expectedBytes: Number.isSafeInteger(length) ? length : undefined,
      signal: abort.signal,
    });
  } catch (error) {
    void reply.header('connection', 'close');
    linger(request);
    throw error;
  } finally {
    request.raw.off('aborted', onClose);
  }
}

function linger({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return;
  raw.resume();
  const timer = setTimeout(() => raw.destroy(), LINGER_MS);
  raw.once('close', () => clearTimeout(timer));
}
