import { classifyInboundRequest } from '@modelcontextprotocol/server';
import type { HttpExchange } from './ports.js';

/** Whether a request is of a revision up to 2025-11-25; from 2026-07-28 on each says so itself, and there are no sessions. */
export function isOfSessions({ method, headers, body }: HttpExchange['request']): boolean {
  const text = (name: string) => (headers[name] === undefined ? undefined : String(headers[name]));
  const outcome = classifyInboundRequest({
    httpMethod: method,
    protocolVersionHeader: text('mcp-protocol-version'),
    mcpMethodHeader: text('mcp-method'),
    mcpNameHeader: text('mcp-name'),
    body,
  });
  return outcome.kind === 'legacy';
}
