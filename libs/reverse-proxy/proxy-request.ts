import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Exchange } from './exchange.js';
import { ProxyError } from './proxy-error.js';
import { type ForwardRules, requestFault } from './request-head.js';
import type { Upstream } from './upstream.js';

/** The exchange that a connection of a client is at, or was last. */
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
  const { socket } = request;
  const before = turns.get(socket);
  const turn = before
    ? before.then(() => exchangeOnce(request, response, upstream, rules))
    : exchangeOnce(request, response, upstream, rules);
  const over = turn.catch(() => undefined);
  turns.set(socket, over);
  try {
    await turn;
  } finally {
    if (turns.get(socket) === over) turns.delete(socket);
  }
}

async function exchangeOnce(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
  rules: ForwardRules,
): Promise<void> {
  const isRepeatable = /^(?:GET|HEAD)$/.test(request.method ?? '') && !hasBody(request);
  for (let isNew = false; ; isNew = true) {
    const exchange = new Exchange(request, response, upstream, rules);
    try {
      return await exchange.run(isNew);
    } catch (error) {
      // The upstream may have closed an idle connection just when it was used: RFC 9112, section 9.3.1.
      if (isRepeatable && !isNew && exchange.mayRepeat) continue;
      if (response.headersSent) response.destroy();
      throw error;
    }
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
