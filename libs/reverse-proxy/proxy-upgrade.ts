import type { IncomingMessage } from 'node:http';
import { membersOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import { type ForwardRules, requestBody, requestFault } from './request-head.js';
import type { UpgradeClient } from './upgrade-client.js';
import { UpgradeExchange } from './upgrade-exchange.js';
import type { Upstream } from './upstream.js';

/**
 * Sends a request for a WebSocket (RFC 6455) on to `upstream`. Where that agrees, both connections are joined until one ends,
 * or `rules.signal` is aborted; any other answer goes to the client, whose connection ends then. Resolves when all is over.
 *
 * Rejects with ProxyError. Where nothing was written to the client's socket it is left open, and the caller answers; else it
 * is destroyed.
 */
export async function proxyUpgrade(
  client: UpgradeClient,
  upstream: Upstream,
  rules: ForwardRules,
): Promise<void> {
  const { request, socket } = client;
  const fault = requestFault(request) ?? upgradeFault(request);
  if (fault !== undefined) throw new ProxyError('request', fault);
  const stop = new AbortController();
  const end = () => stop.abort();
  if (rules.signal?.aborted || socket.destroyed) end();
  rules.signal?.addEventListener('abort', end, { once: true });
  socket.once('close', end);
  try {
    const connection = await upstream.open(stop.signal);
    await new UpgradeExchange(client, connection, rules, stop.signal).run();
  } finally {
    rules.signal?.removeEventListener('abort', end);
    socket.off('close', end);
  }
}

function upgradeFault(request: IncomingMessage): string | undefined {
  if (request.method !== 'GET') return 'Only GET may ask for a WebSocket';
  if (membersOf(request.rawHeaders, 'upgrade').join() !== 'websocket')
    return 'Only an upgrade to websocket is forwarded';
  if (requestBody(request) !== 0) return 'A request for a WebSocket has no body';
  return undefined;
}
