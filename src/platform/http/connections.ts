import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * A stop must not wait for connections that clients merely keep open. Node closes those that are idle between two
 * requests. What it leaves are answers under way, which are made the last on their connections here, and connections
 * that never carried a request, such as browsers open in advance.
 */
export function closeConnectionsAtEnd(http: FastifyInstance): void {
  const unused = new Set<Socket>();
  let isClosing = false;
  http.server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  http.server.on('request', ({ socket }: { socket: Socket }) => unused.delete(socket));
  http.addHook('preClose', async () => {
    isClosing = true;
    for (const socket of unused) socket.destroy();
  });
  http.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing) reply.header('connection', 'close');
    done(null, payload);
  });
}
