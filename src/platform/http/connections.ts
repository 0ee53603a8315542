import type { FastifyInstance } from 'fastify';

/**
 * Answers that are under way when the service stops are the last on their connections. Otherwise a client that keeps its
 * connection open would hold the stop up until it idles out, more than a minute later.
 */
export function closeConnectionsAtEnd(http: FastifyInstance): void {
  let isClosing = false;
  http.addHook('preClose', async () => {
    isClosing = true;
  });
  http.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
}
