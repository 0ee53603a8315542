import { Injectable } from '@nestjs/common';
import { TookTooLong } from '#libs/worker-pool/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { readPage } from '../../platform/dto/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { task, Workers } from '../../platform/workers/index.js';
import { instructionsHash, toolViews } from './connector-views.js';
import { ConnectorToolPage, ListConnectorTools, UpdateConnectorTools } from './connectors.dto.js';
import { type ConnectorRow, type ToolRow } from './records/connector-rows.js';
import { ConnectorsStore } from './records/connectors.store.js';
import { ToolsStore } from './records/tools.store.js';
import { proposedEffect, TOOL_EFFECTS, type ToolEffect } from './tools/pin.js';

const USABLE = task('libs/bounded-schema/schema-task', 'faultOfSchema');
const SCHEMA_MS = 5_000;

/** What servers offer, and what of it people approved. */
@Injectable()
export class ConnectorToolsService {
  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorsStore,
    private readonly tools: ToolsStore,
    private readonly workers: Workers,
    private readonly audit: Audit,
  ) {}

  @Action('connector_tool_list', 'GET /api/connectors/:id/tools', {
    on: { id: 'connector' },
    summary: 'List the tools of a connector, as they are and where they differ from what was approved',
    permission: 'connection.read',
    input: ListConnectorTools,
    output: ConnectorToolPage,
  })
  async list(actor: Actor, input: ListConnectorTools): Promise<ConnectorToolPage> {
    const { id, state, ...asked } = input;
    const connector = await this.connectors.require(actor, 'connection.read', id);
    const [page, all] = await Promise.all([
      readPage({ by: 'name', kind: 'text' }, asked, slice => this.tools.list(id, { state, ...slice })),
      this.tools.list(id),
    ]);
    const { instructions: text, approved_instructions: approved, server } = connector;
    return {
      items: toolViews(connector, page.items, all),
      next_cursor: page.next_cursor,
      instructions: { text, approved, hash: text === null ? null : instructionsHash(text) },
      unusable: [...(server?.unusable ?? [])],
    };
  }

  @Action('connector_tool_update', 'PUT /api/connectors/:id/tools', {
    on: { id: 'connector' },
    summary: 'Approve tools of a connector as they are, block others, and say what they count as',
    description:
      'A tool is approved by the hash under which it was looked at. One that its server changes afterwards is refused where it is called, until it is approved again.',
    consequence: 'Agents may call the tools that are approved, with the credentials of the connector.',
    permission: 'provider.configure',
    input: UpdateConnectorTools,
    output: ConnectorToolPage,
    refuses: { 409: 'A tool has changed since it was looked at' },
  })
  async update(actor: Actor, input: UpdateConnectorTools): Promise<ConnectorToolPage> {
    const { id } = input;
    await this.connectors.require(actor, 'provider.configure', id);
    const known = new Map((await this.tools.list(id)).map(row => [row.name, row]));
    const effects = parseEffects(input);
    requireKnown(input, effects, known);
    for (const { name } of input.approve ?? []) await this.requireUsable(known.get(name));
    await this.database.transaction(async unit => {
      const connector = await this.connectors.require(actor, 'provider.configure', id, unit);
      await this.connectors.lock(unit, id);
      await this.apply(unit, actor, connector, input, effects);
      const { organization_id } = connector;
      const details = {
        approved: input.approve ?? [],
        blocked: input.block ?? [],
        effects: Object.fromEntries(effects),
      };
      await this.audit.record(
        unit,
        actor,
        'connector.approve_tools',
        { type: 'connector', id, organization_id },
        details,
      );
    });
    return this.list(actor, { id, limit: 200 });
  }

  private async apply(
    unit: UnitOfWork,
    actor: Actor,
    connector: ConnectorRow,
    { id, approve = [], block = [], instructions }: UpdateConnectorTools,
    effects: ReadonlyMap<string, ToolEffect>,
  ): Promise<void> {
    const known = new Map((await this.tools.list(id, {}, unit)).map(row => [row.name, row]));
    for (const { name, hash } of approve) {
      const row = known.get(name);
      const effect = effects.get(name) ?? (row && effectWhenApproved(row)) ?? 'destructive';
      if (!(await this.tools.approve(unit, { connectorId: id, name, hash }, effect, actor.id)))
        throw new Conflict(`The tool ${name} is not as it was looked at any more; look at it again`);
    }
    await this.tools.block(unit, id, block);
    for (const [name, effect] of effects) await this.tools.setEffect(unit, id, name, effect);
    if (
      instructions !== undefined &&
      (!connector.instructions || instructionsHash(connector.instructions) !== instructions)
    )
      throw new Conflict(
        'The instructions of the server are not as they were looked at any more; look at them again',
      );
    const approved_instructions =
      instructions === undefined ? connector.approved_instructions : connector.instructions;
    await this.connectors.change(unit, id, { approved_instructions });
  }

  /** Refuses a tool whose input schema cannot be compiled. */
  private async requireUsable(row: ToolRow | undefined): Promise<void> {
    try {
      const fault = await this.workers.run<string | null>(
        USABLE,
        JSON.stringify(row?.definition.inputSchema),
        SCHEMA_MS,
      );
      if (fault !== null)
        throw new Invalid(`The tool ${row?.name} cannot be approved: its input_schema ${fault}`);
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error;
      throw new Invalid(
        `The tool ${row?.name} cannot be approved: its input_schema takes too long to be understood`,
      );
    }
  }
}

/** As before where it was approved before, else as the server proposes. */
const effectWhenApproved = ({ approved_hash, effect, definition }: ToolRow): ToolEffect =>
  approved_hash === null ? proposedEffect(definition) : effect;

function parseEffects({ effects = {} }: UpdateConnectorTools): ReadonlyMap<string, ToolEffect> {
  return new Map(
    Object.entries(effects).map(([name, effect]) => {
      if (!TOOL_EFFECTS.includes(effect as ToolEffect))
        throw new Invalid(`effects.${name.slice(0, 128)} must be one of ${TOOL_EFFECTS.join(', ')}`);
      return [name, effect as ToolEffect];
    }),
  );
}

function requireKnown(
  { approve = [], block = [] }: UpdateConnectorTools,
  effects: ReadonlyMap<string, ToolEffect>,
  known: ReadonlyMap<string, ToolRow>,
): void {
  const named = [
    ...approve.map(({ name }, at) => [`approve.${at}.name`, name] as const),
    ...block.map((name, at) => [`block.${at}`, name] as const),
    ...[...effects.keys()].map(name => [`effects.${name.slice(0, 128)}`, name] as const),
  ];
  for (const [field, name] of named)
    if (!known.has(name)) throw new Invalid(`${field} names no tool of this connector`);
  const both = approve.find(({ name }) => block.includes(name));
  if (both) throw new Invalid(`block names ${both.name}, which approve names, too`);
}
