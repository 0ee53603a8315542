import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Exchange } from './exchange.js';
import { ProxyError } from './proxy-error.js';
import { type ForwardRules, requestFault } from './request-head.js';
import type { Upstream } from './upstream.js';

/** The last request of each client's connection: the next one begins when it has ended. */
const turns = new WeakMap<Socket, Promise<void>>();

/**
 * Sends a request on to `upstream` and its answer back, each piece as it comes. Resolves when the answer was sent.
 *
 * Requests that a client sends without waiting for answers are sent on one after the other: RFC 9112, section 9.3.2.
 *
 * Rejects with ProxyError. Where nothing was sent yet (`response.headersSent` is false), the caller answers with an error of
 * its own; else the connection to the client is destroyed, since a clean end would pass a part for the whole.
 */
export async function proxyRequest(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
  rules: ForwardRules,
): Promise<void> {
  const fault = requestFault(request);
  if (fault !== undefined) throw new ProxyError('request', fault);
  const before = turns.get(request.socket);
  const turn = exchange(request, response, upstream, rules, before);
  turns.set(
    request.socket,
    turn.catch(() => {}),
  );
  await turn;
}

async function exchange(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
  rules: ForwardRules,
  before: Promise<void> | undefined,
): Promise<void> {
  await before;
  let first: unknown;
  for (;;) {
    const exchange = new Exchange(request, response, upstream, rules);
    try {
      return await exchange.run();
    } catch (error) {
      // The upstream may have closed an idle connection just when it was used: RFC 9112, section 9.3.1.
      if (first === undefined && exchange.mayRepeat && isRepeatable(request)) {
        first = error;
        upstream.endIdle();
        continue;
      }
      if (response.headersSent) response.destroy();
      // It was sent before, though not this time.
      throw first !== undefined && error instanceof ProxyError && error.fault === 'connect' ? first : error;
    }
  }
}

const isRepeatable = ({ method, headers }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  headers['transfer-encoding'] === undefined &&
  Number(headers['content-length'] ?? 0) === 0;
