import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import type { Pin, ToolDefinition, ToolEffect } from '../tools/pin.js';
import type { ToolRow, ToolState } from './connector-rows.js';

type Queries = Pick<Database, 'tables'>;

/** A tool as it is kept after the server was asked. */
export interface SeenTool extends Pin {
  readonly state: ToolState;
  readonly effect: ToolEffect;
}

@Injectable()
export class ToolsStore {
  constructor(private readonly database: Database) {}

  /** By name; those after `after`. */
  async list(
    connectorId: string,
    page: { state?: ToolState; after?: string; limit?: number } = {},
    within: Queries = this.database,
  ): Promise<ToolRow[]> {
    const { state, after, limit } = page;
    let query = within
      .tables()
      .selectFrom('connector_tool')
      .selectAll()
      .where('connector_id', '=', connectorId);
    if (state) query = query.where('state', '=', state);
    if (after !== undefined) query = query.where('name', '>', after);
    query = query.orderBy('name');
    return (limit === undefined ? query : query.limit(limit)).execute();
  }

  async counts(
    connectorIds: readonly string[],
  ): Promise<{ connector_id: string; state: ToolState; count: number }[]> {
    if (connectorIds.length === 0) return [];
    const { rows } = await sql<{ connector_id: string; state: ToolState; count: number }>`
      select connector_id, state, count(*)::int as count from connector_tool
      where connector_id = any(${[...connectorIds]}::uuid[]) group by connector_id, state`.execute(
      this.database.tables(),
    );
    return rows;
  }

  async pinned(connectorId: string, hashes: readonly string[]): Promise<Pin[]> {
    const { rows } = await sql<{ approved: ToolDefinition; approved_hash: string }>`
      select approved, approved_hash from connector_tool
      where connector_id = ${connectorId} and approved_hash = any(${[...hashes]})`.execute(
      this.database.tables(),
    );
    return rows.map(({ approved, approved_hash }) => ({ definition: approved, hash: approved_hash }));
  }

  async keepSeen(unit: UnitOfWork, connectorId: string, tools: readonly SeenTool[]): Promise<void> {
    for (const { definition, hash, state, effect } of tools)
      await sql`
        insert into connector_tool (connector_id, name, definition, hash, state, effect, seen_at)
        values (${connectorId}, ${definition.name}, ${JSON.stringify(definition)}::jsonb, ${hash}, ${state}, ${effect}, now())
        on conflict (connector_id, name) do update set definition = excluded.definition, hash = excluded.hash,
          state = excluded.state, effect = excluded.effect, seen_at = now()`.execute(unit.tables());
  }

  /** The server has them no more: those that were approved or blocked stay, the others go. */
  async keepMissing(unit: UnitOfWork, connectorId: string, names: readonly string[]): Promise<void> {
    await sql`
      delete from connector_tool where connector_id = ${connectorId} and name = any(${[...names]})
        and approved_hash is null and state <> 'blocked'`.execute(unit.tables());
    await sql`
      update connector_tool set state = 'removed' where connector_id = ${connectorId} and name = any(${[...names]})
        and state <> 'blocked'`.execute(unit.tables());
  }

  /** Pins the definition that has this hash; false where the server says something else by now. */
  async approve(
    unit: UnitOfWork,
    { connectorId, name, hash }: { connectorId: string; name: string; hash: string },
    effect: ToolEffect,
    by: string,
  ): Promise<boolean> {
    const { rows } = await sql`
      update connector_tool set approved = definition, approved_hash = hash, state = 'approved', effect = ${effect},
        approved_by = ${by}, approved_at = now()
      where connector_id = ${connectorId} and name = ${name} and hash = ${hash} and state <> 'removed'
      returning 1`.execute(unit.tables());
    return rows.length > 0;
  }

  async block(unit: UnitOfWork, connectorId: string, names: readonly string[]): Promise<void> {
    await sql`
      update connector_tool set state = 'blocked', approved = null, approved_hash = null, approved_by = null, approved_at = null
      where connector_id = ${connectorId} and name = any(${[...names]})`.execute(unit.tables());
  }

  async setEffect(unit: UnitOfWork, connectorId: string, name: string, effect: ToolEffect): Promise<void> {
    await sql`
      update connector_tool set effect = ${effect} where connector_id = ${connectorId} and name = ${name}`.execute(
      unit.tables(),
    );
  }
}
