import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { McpCall } from '../call/mcp-call.js';

/** A request and its answer, taken over from the framework for the handlers of the SDK. */
export interface Exchange {
  readonly request: IncomingMessage & { auth: AuthInfo };
  readonly response: ServerResponse;
  readonly body: unknown;
  /** Aborted when the client has gone, or the answer is complete. */
  readonly gone: AbortSignal;
}

/** What the SDK is told of who calls: nothing that it could pass on, and the call for our own handlers. */
export function authOf(call: McpCall): AuthInfo {
  const { id: clientId, scopes } = call.actor.credential;
  return { token: '', clientId, scopes: [...(scopes ?? [])], extra: { call } };
}

export function takeOver(call: McpCall, request: FastifyRequest, reply: FastifyReply): Exchange {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  return {
    request: Object.assign(request.raw, { auth: authOf(call) }),
    response: reply.raw,
    body: request.body,
    gone: call.signal,
  };
}
