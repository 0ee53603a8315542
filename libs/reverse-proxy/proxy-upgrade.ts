import type { IncomingMessage } from 'node:http';
import { membersOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import { type ForwardRules, requestBody, requestFault } from './request-head.js';
import { UpgradeExchange, type UpgradeRequest } from './upgrade-exchange.js';
import type { Upstream } from './upstream.js';

/**
 * Sends a request for a WebSocket (RFC 6455) on to `upstream`. Where that agrees, both connections are joined until one ends,
 * or `rules.signal` is aborted; any other answer goes to the client, whose connection ends then. Resolves when all is over.
 *
 * Rejects with ProxyError. Where nothing was written to the client's socket it is left open, and the caller answers; else it
 * is destroyed.
 */
export async function proxyUpgrade(
  asked: UpgradeRequest,
  upstream: Upstream,
  rules: ForwardRules,
): Promise<void> {
  const { request, socket } = asked;
  const fault = requestFault(request) ?? upgradeFault(request);
  if (fault !== undefined) throw new ProxyError('request', fault);
  const stop = new AbortController();
  const end = () => stop.abort();
  const ignore = () => {};
  if (rules.signal?.aborted || socket.destroyed) end();
  rules.signal?.addEventListener('abort', end, { once: true });
  // The error of a socket is followed by its close.
  socket.once('close', end).on('error', ignore);
  try {
    const connection = await upstream.open(stop.signal);
    await new UpgradeExchange(asked, connection, rules, stop.signal).run();
  } finally {
    rules.signal?.removeEventListener('abort', end);
    socket.off('close', end);
    if (!socket.destroyed) socket.off('error', ignore);
  }
}

function upgradeFault(request: IncomingMessage): string | undefined {
  if (request.method !== 'GET') return 'Only GET may ask for a WebSocket';
  if (membersOf(request.rawHeaders, 'upgrade').join() !== 'websocket')
    return 'Only an upgrade to websocket is forwarded';
  if (requestBody(request) !== 0) return 'A request for a WebSocket has no body';
  return undefined;
}
