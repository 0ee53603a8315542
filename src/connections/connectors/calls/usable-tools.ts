import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Actor } from '../../../platform/access/index.js';
import { TopicCache, Topics } from '../../../platform/topics/index.js';
import { connectorTopic } from '../records/connector-events.js';
import { type GrantedConnector, type GrantedTool, GrantsStore } from '../records/grants.store.js';
import { ToolsStore } from '../records/tools.store.js';
import { type ToolDefinition } from '../tools/pin.js';
import { toolNames } from '../tools/tool-names.js';

export interface ConnectorTool {
  readonly callName: string;
  readonly connector: GrantedConnector;
  readonly tool: GrantedTool;
}

const MAX_WORKSPACES = 200;
const TTL_MS = 10 * 60_000;
/** Characters of pinned definitions that are kept in memory. */
const MAX_KEPT = 16_000_000;

/** Tools of connectors in a workspace, cached until a connector changes. */
@Injectable()
export class UsableTools {
  private readonly known: TopicCache<readonly ConnectorTool[]>;
  private readonly definitions = new LRUCache<string, ToolDefinition>({
    maxSize: MAX_KEPT,
    sizeCalculation: definition => JSON.stringify(definition).length,
  });

  constructor(
    private readonly grants: GrantsStore,
    private readonly tools: ToolsStore,
    topics: Topics,
  ) {
    this.known = new TopicCache(topics, [connectorTopic], { max: MAX_WORKSPACES, ttlMs: TTL_MS });
  }

  /** All that the actor has there, whatever its state: a personal connector is its owner's alone. */
  async list({ type, id }: Pick<Actor, 'type' | 'id'>, workspaceId: string): Promise<ConnectorTool[]> {
    const all = await this.known.get(workspaceId, async () =>
      named(await this.grants.inWorkspace(workspaceId)),
    );
    return all.filter(
      ({ connector: { user_id } }) => user_id === null || (type === 'user' && user_id === id),
    );
  }

  /** Pinned definitions of approved tools, in their order. */
  async pinned(tools: readonly ConnectorTool[]): Promise<(ToolDefinition | undefined)[]> {
    const found = new Map<string, ToolDefinition>();
    const missing = new Map<string, string[]>();
    for (const { connector, tool } of tools) {
      if (tool.hash === null) continue;
      const definition = this.definitions.get(tool.hash);
      if (definition) found.set(tool.hash, definition);
      else missing.set(connector.id, [...(missing.get(connector.id) ?? []), tool.hash]);
    }
    for (const [connectorId, hashes] of missing)
      for (const { hash, definition } of await this.tools.pinned(connectorId, hashes)) {
        found.set(hash, definition);
        this.definitions.set(hash, definition);
      }
    return tools.map(({ tool: { hash } }) => found.get(hash ?? ''));
  }
}

function named(connectors: readonly GrantedConnector[]): ConnectorTool[] {
  return connectors.flatMap(connector => {
    const tools = new Map(connector.tools.map(tool => [tool.name, tool]));
    return [...toolNames(connector.slug, [...tools.keys()])].flatMap(([callName, name]) => {
      const tool = tools.get(name);
      return tool ? [{ callName, connector, tool }] : [];
    });
  });
}

/** Why a tool cannot be called, with what to do about it; undefined where it can. */
export function objectionTo({ connector, tool }: ConnectorTool): string | undefined {
  if (connector.is_disabled) return `The connector ${connector.name} is turned off`;
  const what = `The tool ${tool.name} of the connector ${connector.name}`;
  const ask = 'Do without it, or ask a person who manages the connector to look at its tools';
  const reasons = {
    approved: undefined,
    new: `${what} was not approved yet. ${ask}.`,
    changed: `${what} says something else than what was approved, so it is not called. ${ask}.`,
    removed: `${what} is gone: its server has it no more. ${ask}.`,
    blocked: `${what} is blocked. ${ask}.`,
  };
  return reasons[tool.state];
}
