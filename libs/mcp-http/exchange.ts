import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Call, HttpExchange } from './ports.js';

/** A request and its answer, taken over from the framework for the handlers of the SDK. */
interface Exchange {
  readonly request: IncomingMessage & { auth: AuthInfo };
  readonly response: ServerResponse;
  readonly body: unknown;
}

/** The call for the handlers of the host, where the SDK keeps its credential: of that it knows nothing. */
export const authOf = (call: Call): AuthInfo => ({ token: '', clientId: '', scopes: [], extra: { call } });

/** The call that was put there; for handlers that the SDK gives no more than its own context. */
export const callOf = <C extends Call>(
  authInfo: { extra?: Record<string, unknown> } | undefined,
): C | undefined => authInfo?.extra?.call as C | undefined;

export function takeOver(call: Call, { request, reply }: HttpExchange): Exchange {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  return {
    request: Object.assign(request.raw, { auth: authOf(call) }),
    response: reply.raw,
    body: request.body,
  };
}
