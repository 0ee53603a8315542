import type { FastifyReply } from 'fastify';

/** Aborted when the client has gone before its answer was complete (and, harmlessly, after). */
export function clientGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}
