import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * A stop must not wait for connections that clients merely keep open. Node closes those that are idle between two
 * requests. What it leaves are answers under way, which are made the last on their connections here, and connections
 * that never had a request, such as browsers open in advance.
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

/**
 * Closes connections on which nothing moves for `ms` while an answer waits to be read, or while there is nothing to answer:
 * who asks for much and reads none of it would keep it in memory for ever. A request whose answer takes long to make, and
 * one that is still coming in, are left alone.
 */
export function closeUnreadConnections({ server }: FastifyInstance, ms: number): void {
  const answering = new WeakMap<Socket, ServerResponse>();
  const served = new WeakSet<Socket>();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    answering.set(socket, response);
    served.add(socket);
    response.once('close', () => {
      if (answering.get(socket) === response) answering.delete(socket);
    });
  });
  // Node emits this only when not a byte of a connection has moved, also of one large write.
  server.setTimeout(ms, (socket: Socket) => {
    const isIdle = !answering.has(socket) && (served.has(socket) || socket.bytesRead === 0);
    if (isIdle || socket.writableLength > 0) socket.destroy();
  });
}
