import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { TopicCache, Topics } from '../../../platform/topics/index.js';
import {
  connectorTopic,
  type GrantedConnector,
  type GrantedTool,
  GrantsStore,
  ToolsStore,
} from '../records/index.js';
import { type ToolDefinition, toolNames } from '../tools/index.js';

/** A tool of a connector, by the name under which models call it. */
export interface ConnectorTool {
  readonly callName: string;
  readonly connector: GrantedConnector;
  readonly tool: GrantedTool;
}

const MAX_WORKSPACES = 200;
const TTL_MS = 10 * 60_000;
/** Characters of pinned definitions that are kept in memory. */
const MAX_KEPT = 16_000_000;

/** Which tools of connectors there are in a workspace, as of now: what is known is forgotten when something changes. */
@Injectable()
export class UsableTools {
  private readonly known: TopicCache<readonly ConnectorTool[]>;
  private readonly definitions = new Map<string, { definition: ToolDefinition; size: number }>();
  private kept = 0;

  constructor(
    private readonly grants: GrantsStore,
    private readonly tools: ToolsStore,
    topics: Topics,
  ) {
    this.known = new TopicCache(topics, [connectorTopic], { max: MAX_WORKSPACES, ttlMs: TTL_MS });
  }

  /** All that the actor has there, whatever its state: a personal connector is its owner's alone. */
  async of({ type, id }: Pick<Actor, 'type' | 'id'>, workspaceId: string): Promise<ConnectorTool[]> {
    const all = await this.known.get(workspaceId, async () =>
      named(await this.grants.inWorkspace(workspaceId)),
    );
    return all.filter(
      ({ connector: { user_id } }) => user_id === null || (type === 'user' && user_id === id),
    );
  }

  /** The pinned definitions of tools that are approved, in their order. */
  async pinned(tools: readonly ConnectorTool[]): Promise<(ToolDefinition | undefined)[]> {
    const missing = Map.groupBy(
      tools.filter(({ tool: { hash } }) => hash !== null && !this.definitions.has(hash)),
      ({ connector }) => connector.id,
    );
    for (const [connectorId, wanted] of missing) {
      const hashes = wanted.flatMap(({ tool: { hash } }) => hash ?? []);
      for (const { hash, definition } of await this.tools.pinned(connectorId, hashes))
        this.keep(hash, definition);
    }
    const found = tools.map(({ tool: { hash } }) => this.definitions.get(hash ?? '')?.definition);
    this.makeRoom();
    return found;
  }

  private keep(hash: string, definition: ToolDefinition): void {
    const size = JSON.stringify(definition).length;
    this.definitions.set(hash, { definition, size });
    this.kept += size;
  }

  /** The oldest are forgotten. */
  private makeRoom(): void {
    for (const [hash, { size }] of this.definitions) {
      if (this.kept <= MAX_KEPT) return;
      this.definitions.delete(hash);
      this.kept -= size;
    }
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
