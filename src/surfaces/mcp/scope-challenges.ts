import { Inject, Injectable } from '@nestjs/common';
import { OAuthResources, stepUp } from '../../identity/index.js';
import { scopeOf } from '../../platform/access/policy.js';
import { Problem } from '../../platform/http/problem.js';
import type { McpCall } from './mcp-call.js';
import { McpTools } from './mcp-tools.js';

/** As much of a call as says which tool it is. */
interface ToolCall {
  readonly method: 'tools/call';
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown };
}

/**
 * Sends a client that was let in for less than it wants to do back to its person, with the scopes to ask for (RFC 6750
 * section 3.1; 2025-11-25, authorization, scope challenge). A key has nobody to go back to: its call is refused as a tool.
 */
@Injectable()
export class ScopeChallenges {
  constructor(
    @Inject(McpTools) private readonly tools: McpTools,
    @Inject(OAuthResources) private readonly resources: OAuthResources,
  ) {}

  /** Throws a challenge (403) where the access token lacks a scope that the call takes. */
  requireEnough({ actor, view }: McpCall, body: unknown): void {
    const { type, scopes } = actor.credential;
    if (type !== 'oauth' || scopes === null || !isToolCall(body)) return;
    const { name, arguments: input } = body.params ?? {};
    const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
    const needed = this.tools.permissions(view, String(name), fields).map(scopeOf);
    const lacking = needed.find(scope => !scopes.includes(scope));
    if (lacking === undefined) return;
    const challenge = `Bearer error="insufficient_scope", scope="${stepUp(scopes, lacking).join(' ')}", resource_metadata="${this.resources.mcpMetadata}"`;
    throw new Problem(403, `This access token lacks the scope ${lacking}`, { 'www-authenticate': challenge });
  }
}

const isToolCall = (body: unknown): body is ToolCall =>
  typeof body === 'object' && body !== null && 'method' in body && body.method === 'tools/call';
