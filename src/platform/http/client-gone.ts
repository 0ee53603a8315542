import type { FastifyReply } from 'fastify';

/** One for all: an abort without a reason makes an error, with its stack, for each request that has ended. */
const GONE = new Error('The client has gone');

/** Aborted when the client has gone before its answer was complete (and, harmlessly, after). */
export function clientGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort(GONE));
  return gone.signal;
}
