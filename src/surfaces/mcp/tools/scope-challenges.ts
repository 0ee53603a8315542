import { Injectable } from '@nestjs/common';
import { OAuthResources, stepUp } from '../../../identity/oauth/index.js';
import { type Permission, scopeOf } from '../../../platform/access/index.js';
import { Problem } from '../../../platform/errors/index.js';
import type { McpCall, ToolView } from '../call/mcp-call.js';
import { parseResourceUri } from '../resources/resource-uri.js';
import { McpTools } from './mcp-tools.js';

type Fields = Record<string, unknown>;

/**
 * Sends a client that was let in for less than it wants to do back to its person, with the scopes to ask for (RFC 6750
 * section 3.1; 2025-11-25, authorization, scope challenge). A key has no person to ask: its call is refused as a tool.
 */
@Injectable()
export class ScopeChallenges {
  constructor(
    private readonly tools: McpTools,
    private readonly resources: OAuthResources,
  ) {}

  /** Throws a challenge (403) where the access token lacks a scope that the request takes; of an action, that is in the ledger. */
  async requireEnough(call: McpCall, body: unknown): Promise<void> {
    const { actor, view } = call;
    const { type, scopes } = actor.credential;
    if (type !== 'oauth' || scopes === null) return;
    const { method, params } = fieldsOf(body);
    const needed = this.permissions(view, method, fieldsOf(params)).map(scopeOf);
    const lacking = needed.find(scope => !scopes.includes(scope));
    if (lacking === undefined) return;
    const challenge = `Bearer error="insufficient_scope", scope="${stepUp(scopes, lacking).join(' ')}", resource_metadata="${this.resources.mcpMetadata}"`;
    const headers = { 'www-authenticate': challenge };
    const refusal = new Problem(403, `This access token lacks the scope ${lacking}`, headers);
    if (method !== 'tools/call') throw refusal;
    const { name, arguments: input } = fieldsOf(params);
    throw await this.tools.refuse(call, { name: String(name), input: fieldsOf(input) }, refusal);
  }

  private permissions(view: ToolView, method: unknown, params: Fields): Permission[] {
    switch (method) {
      case 'tools/call':
        return this.tools.permissions(view, String(params.name), fieldsOf(params.arguments));
      case 'resources/list':
      case 'prompts/list':
        return ['workspace.list'];
      case 'resources/read':
      case 'resources/subscribe':
        return permissionsToRead(params.uri);
      case 'prompts/get':
        return ['file.read'];
      default:
        return [];
    }
  }
}

/** None for an address that is not ours, which is refused as such. */
function permissionsToRead(uri: unknown): Permission[] {
  const named = typeof uri === 'string' ? parseResourceUri(uri) : undefined;
  if (!named) return [];
  return [named.kind === 'run' ? 'chat.read' : 'file.read'];
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
