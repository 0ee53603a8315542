import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { BadRequest, Problem } from '../errors/index.js';
import { DATA_POLICY } from './security-headers.js';

type ClientError = Error & { code?: string };

const REFUSALS: Record<string, [status: number, detail: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers, or the address, are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The extensions of a chunk of the body are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not come in time; send it again'],
};
const MALFORMED: [number, string] = [400, 'The request is not valid HTTP'];

/** Answers what Node refuses before it is a request, as everything else is refused. */
export function refuseOnSocket(error: ClientError, socket: Socket): void {
  // In the midst of an answer there is no place for another.
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

/** Refuses what Node would refuse without a word: a request without `Host`, and expectations that we do not meet; and one with several. */
export function refuseIncompleteRequests(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', ({ raw }, _reply, done) => {
    const lacksHost = raw.httpVersion === '1.1' && raw.headers.host === undefined;
    if (lacksHost) done(new BadRequest('The request has no Host header'));
    else if (hostsOf(raw) > 1) done(new BadRequest('The request has more than one Host header'));
    else if (unmet.has(raw))
      done(new Problem(417, 'Expect: 100-continue is the only expectation that is met'));
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
