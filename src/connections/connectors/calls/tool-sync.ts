import { Injectable } from '@nestjs/common';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import type { ServerFacts } from '../client/remote-server.js';
import { connectorToolsChanged } from '../records/connector-events.js';
import { type ConnectorRow, type ToolRow } from '../records/connector-rows.js';
import { ConnectorsStore } from '../records/connectors.store.js';
import { type SeenTool, ToolsStore } from '../records/tools.store.js';
import { pinTool, proposedEffect, type ToolDefinition } from '../tools/pin.js';

const MAX_INSTRUCTIONS = 8_000;
const MAX_LABEL = 200;
/** Most names in one event. */
const MAX_NAMED = 20;

interface Differences {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
}

/** Keeps what a server says of its tools, beside what people approved of it. */
@Injectable()
export class ToolSync {
  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorsStore,
    private readonly tools: ToolsStore,
    private readonly events: Events,
  ) {}

  /** Nothing where the connector is gone. */
  async keep(connectorId: string, facts: ServerFacts, said: ReadonlyMap<string, unknown>): Promise<void> {
    const { seen, unusable } = sorted(said);
    const { instructions: text, ...server } = facts;
    const instructions = text === null ? null : cut(text, MAX_INSTRUCTIONS);
    const labels = {
      name: cut(server.name),
      title: server.title && cut(server.title),
      version: cut(server.version),
    };
    await this.database.transaction(async unit => {
      const connector = await this.connectors.lock(unit, connectorId);
      if (!connector) return;
      const differences = await this.keepTools(unit, connector, seen);
      await this.connectors.keepServer(unit, connectorId, { ...server, ...labels, unusable }, instructions);
      await this.tell(unit, connector, differences, instructions);
    });
  }

  private async keepTools(
    unit: UnitOfWork,
    connector: ConnectorRow,
    seen: ReadonlyMap<string, ToolDefinition & { hash: string }>,
  ): Promise<Differences> {
    const known = new Map((await this.tools.list(connector.id, {}, unit)).map(row => [row.name, row]));
    const now = [...seen.values()].map(({ hash, ...definition }) =>
      standing({ definition, hash }, known.get(definition.name)),
    );
    const isNews = ({ definition, hash, state }: SeenTool) => {
      const before = known.get(definition.name);
      return before?.hash !== hash || before.state !== state;
    };
    const news = now.filter(isNews);
    await this.tools.keepSeen(unit, connector.id, news);
    // Where each person has an own account, a server may show each of them other tools.
    const missing = connector.per_user
      ? []
      : [...known.values()].filter(({ name, state }) => !seen.has(name) && state !== 'removed');
    await this.tools.keepMissing(
      unit,
      connector.id,
      missing.map(({ name }) => name),
    );
    const named = (state: SeenTool['state']) =>
      news.filter(tool => tool.state === state).map(({ definition }) => definition.name);
    const removed = missing.filter(({ approved_hash }) => approved_hash !== null).map(({ name }) => name);
    return { added: named('new').filter(name => !known.has(name)), changed: named('changed'), removed };
  }

  private async tell(
    unit: UnitOfWork,
    { id, organization_id, checked_at, approved_instructions, instructions: before }: ConnectorRow,
    { added, changed, removed }: Differences,
    instructions: string | null,
  ): Promise<void> {
    const isFirst = checked_at === null;
    const instructions_changed =
      approved_instructions !== null && instructions !== before && instructions !== approved_instructions;
    if (isFirst || added.length + changed.length + removed.length + Number(instructions_changed) === 0)
      return;
    const [few, some, gone] = [added, changed, removed].map(names => names.slice(0, MAX_NAMED));
    await this.events.publish(unit, connectorToolsChanged, {
      connector_id: id,
      organization_id,
      check_id: newId(),
      instructions_changed,
      added: few ?? [],
      changed: some ?? [],
      removed: gone ?? [],
    });
  }
}

const cut = (text: string, most = MAX_LABEL): string =>
  text.replaceAll('\0', '').slice(0, most).toWellFormed();

/** What can be used, by name, and what cannot. */
function sorted(said: ReadonlyMap<string, unknown>) {
  const seen = new Map<string, ToolDefinition & { hash: string }>();
  const unusable: { name: string; reason: string }[] = [];
  for (const [name, tool] of said) {
    const pin = pinTool(tool);
    if (typeof pin === 'string') unusable.push({ name: cut(name), reason: pin });
    else seen.set(pin.definition.name, { ...pin.definition, hash: pin.hash });
  }
  return { seen, unusable: unusable.slice(0, MAX_NAMED) };
}

/** State of a tool after the server reported it. */
function standing(pin: Pick<SeenTool, 'definition' | 'hash'>, known: ToolRow | undefined): SeenTool {
  if (!known) return { ...pin, state: 'new', effect: proposedEffect(pin.definition) };
  const { effect, approved_hash, state } = known;
  if (state === 'blocked') return { ...pin, state, effect };
  if (approved_hash === null) return { ...pin, state: 'new', effect: proposedEffect(pin.definition) };
  return { ...pin, state: approved_hash === pin.hash ? 'approved' : 'changed', effect };
}
