import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { refuseOnSocket } from './refused-requests.js';

/** What must come of a body in each span of time. */
const MIN_BYTES = 1024;
/** How long the answer has to reach the sender. */
const PARTING_MS = 1_000;

/**
 * Refuses (408) requests whose body stops coming, or comes a few bytes at a time: they would hold a connection, and what was
 * made ready for them, for ever. In each span of `ms` a kilobyte must come; where the service itself is slow to read, the
 * sender is not to blame.
 */
export function refuseSlowBodies(http: FastifyInstance, ms: number): void {
  http.addHook('onRequest', ({ raw }, _reply, done) => {
    if (hasBody(raw)) watch(raw, ms);
    done();
  });
}

function watch(request: IncomingMessage, ms: number): void {
  const { socket } = request;
  let before = socket.bytesRead;
  const look = () => {
    if (request.complete || request.destroyed) return;
    const came = socket.bytesRead - before;
    before = socket.bytesRead;
    const isUnread = request.readableLength >= request.readableHighWaterMark;
    if (came >= MIN_BYTES || isUnread) {
      timer = setTimeout(look, ms).unref();
      return;
    }
    refuseOnSocket(Object.assign(new Error('slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
    setTimeout(() => socket.destroy(), PARTING_MS).unref();
  };
  let timer = setTimeout(look, ms).unref();
  request.once('close', () => clearTimeout(timer));
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
