import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { DATA_POLICY, HttpRefusal } from './refusal.js';

/** One for all: an abort without a reason makes an error, with its stack, for each request that has ended. */
const GONE = new Error('The client has gone');

/** Aborted when the client has gone before its answer was complete (and, harmlessly, after). */
export function clientGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort(GONE));
  return gone.signal;
}

type ClientError = Error & { code?: string };

const REFUSALS: Record<string, [status: number, detail: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers, or the address, are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The extensions of a chunk of the body are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not come in time; send it again'],
};
const MALFORMED: [number, string] = [400, 'The request is not valid HTTP'];

/** Answers what Node refuses before it is a request: `{"detail"}` says why. For Fastify's `clientErrorHandler`. */
export function refuseOnSocket(error: ClientError, socket: Socket): void {
  // An answer that has begun cannot be replaced.
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse };
  if (error.code === 'ECONNRESET' || !socket.writable || answer?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, detail] = REFUSALS[error.code ?? ''] ?? MALFORMED;
  const body = JSON.stringify({ detail });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    `Content-Security-Policy: ${DATA_POLICY}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Ends connections and requests that would be held for ever; `ms` is how long a client may send or read nothing. */
export function guardConnections(fastify: FastifyInstance, ms: number): void {
  refuseIncompleteRequests(fastify);
  closeConnectionsAtEnd(fastify);
  closeUnreadConnections(fastify.server, ms);
  refuseSlowBodies(fastify, ms);
}

/** Refuses what Node would refuse without a word: a request without `Host`, and expectations that we do not meet; and one with several. */
function refuseIncompleteRequests(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', ({ raw }, _reply, done) => {
    const lacksHost = raw.httpVersion === '1.1' && raw.headers.host === undefined;
    if (lacksHost) done(new HttpRefusal(400, 'The request has no Host header'));
    else if (hostsOf(raw) > 1) done(new HttpRefusal(400, 'The request has more than one Host header'));
    else if (unmet.has(raw))
      done(new HttpRefusal(417, 'Expect: 100-continue is the only expectation that is met'));
    else done();
  });
  const { server } = fastify as FastifyInstance & { server: Server };
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    unmet.add(request);
    server.emit('request', request, response);
  });
}

/** Of several, another program on the way may have looked at another than we would (RFC 9112 section 3.2). */
function hostsOf({ rawHeaders }: IncomingMessage): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}

const unmet = new WeakSet<IncomingMessage>();

/** What must come of a body in each span of time. */
const MIN_BYTES = 1024;
/** How long the answer has to reach the sender. */
const PARTING_MS = 1_000;

/**
 * Refuses (408) requests whose body stalls: they would hold a connection for ever. A kilobyte must arrive every `ms`, unless
 * the service itself is slow to read.
 */
function refuseSlowBodies(http: FastifyInstance, ms: number): void {
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

/**
 * A shutdown does not wait for connections that clients keep open. Node closes those that are idle between two requests;
 * this closes those that never had a request, and makes answers in flight the last on their connections.
 */
function closeConnectionsAtEnd(http: FastifyInstance): void {
  const unused = new Set<Socket>();
  let isClosing = false;
  http.server.on('connection', (socket: Socket) => {
    // It came while the server was about to close: no one would close it any more.
    if (isClosing) return void socket.destroy();
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
 * Closes connections that are idle for `ms` while an answer waits to be read, which would stay in memory for ever, or while
 * there is no request. A slow handler and a request that still arrives are left alone.
 */
export function closeUnreadConnections(server: Server, ms: number): void {
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
