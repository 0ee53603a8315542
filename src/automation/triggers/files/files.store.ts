import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Chain, NO_CHAIN } from '../../../platform/access/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { defineTopic } from '../../../platform/topics/index.js';
import type { LoggedChange } from '../../../workspaces/changes/index.js';
import type { DeploymentRow, FileTrigger, TriggerRow } from '../../automation/index.js';
import type { Window } from './window.js';

/** A file trigger of a live deployment. */
export interface LiveFileTrigger {
  readonly id: string;
  readonly deployment_id: string;
  readonly config: FileTrigger;
  /** `seq` of the newest change when it went live, and that time. */
  readonly cursor: string;
  readonly since: string;
}

/** A trigger whose window has come to its end. */
export type DueFileTrigger = Pick<TriggerRow, 'id'> & { readonly gathered: Window };

/** Windows were opened. */
export const FILE_WINDOWS = defineTopic('automation-windows')();

/** What file triggers have read of the logs of their workspaces, and what they gather. */
@Injectable()
export class FilesStore {
  constructor(private readonly database: Database) {}

  /** Workspaces with file triggers of live deployments. */
  async workspaces(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select distinct d.workspace_id as id from automation_trigger t join automation_deployment d on d.id = t.deployment_id
      where t.kind = 'file' and t.position is not null and d.state = 'live'`.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }

  /** The number of the last change that was read; undefined: no trigger was ever live here. */
  async cursor(workspaceId: string): Promise<number | undefined> {
    const row = await this.database
      .tables()
      .selectFrom('automation_change_cursor')
      .select('cursor')
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirst();
    return row && Number(row.cursor);
  }

  /** No other process reads the log for its triggers until `unit` ends; undefined while another one does. */
  async lock(unit: UnitOfWork, workspaceId: string): Promise<number | undefined> {
    const { rows } = await sql<{ cursor: string }>`
      select cursor from automation_change_cursor where workspace_id = ${workspaceId} for update skip locked`.execute(
      unit.tables(),
    );
    return rows[0] && Number(rows[0].cursor);
  }

  async advance(unit: UnitOfWork, workspaceId: string, cursor: number): Promise<void> {
    await unit
      .tables()
      .updateTable('automation_change_cursor')
      .set({ cursor: String(cursor) })
      .where('workspace_id', '=', workspaceId)
      .execute();
  }

  async live(workspaceId: string, within: Pick<Database, 'tables'>): Promise<LiveFileTrigger[]> {
    const { rows } = await sql<LiveFileTrigger>`
      select t.id, t.deployment_id, t.config, t.cursor, t.since
      from automation_trigger t join automation_deployment d on d.id = t.deployment_id
      where d.workspace_id = ${workspaceId} and d.state = 'live' and t.kind = 'file' and t.position is not null
        and t.cursor is not null
      order by t.id`.execute(within.tables());
    return rows;
  }

  /** What these triggers of live deployments have gathered so far; their deployments change no more before `unit` ends. */
  async windows(
    unit: UnitOfWork,
    triggers: readonly Pick<LiveFileTrigger, 'id' | 'deployment_id'>[],
  ): Promise<Map<string, Window | null>> {
    const deployments = [...new Set(triggers.map(({ deployment_id }) => deployment_id))];
    const { rows: locked } = await sql<{ id: string }>`
      select id from automation_deployment where id = any(${deployments}::uuid[]) and state = 'live'
      order by id for no key update`.execute(unit.tables());
    // A statement of its own: the one that waited for the lock sees what was there before.
    const { rows } = await sql<{ id: string; gathered: Window | null }>`
      select id, gathered from automation_trigger
      where deployment_id = any(${locked.map(({ id }) => id)}::uuid[]) and id = any(${triggers.map(({ id }) => id)}::uuid[])
        and position is not null and cursor is not null`.execute(unit.tables());
    return new Map(rows.map(({ id, gathered }) => [id, gathered]));
  }

  async setWindows(unit: UnitOfWork, windows: ReadonlyMap<string, Window>): Promise<void> {
    const given = [...windows].map(([id, window]) => ({ id, window }));
    await sql`
      update automation_trigger t set gathered = g.window, gathering_since = (g.window ->> 'since')::timestamptz,
        fire_at = (g.window ->> 'fire_at')::timestamptz
      from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as g (id uuid, "window" jsonb) where t.id = g.id`.execute(
      unit.tables(),
    );
  }

  async clearWindow(unit: UnitOfWork, id: string): Promise<void> {
    await unit
      .tables()
      .updateTable('automation_trigger')
      .set({ gathered: null, gathering_since: null, fire_at: null })
      .where('id', '=', id)
      .execute();
  }

  /** Changes into which writes can still merge, and which have no number therefore. */
  async unsettled(workspaceId: string, limit: number): Promise<LoggedChange[]> {
    const { rows } = await sql<LoggedChange>`
      select * from workspace_change where workspace_id between ${workspaceId}::uuid and ${workspaceId}::uuid and id is null
      order by workspace_id, seq limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  async changes(unit: UnitOfWork, workspaceId: string, ids: readonly number[]): Promise<LoggedChange[]> {
    const { rows } = await sql<LoggedChange>`
      select * from workspace_change where workspace_id = ${workspaceId} and id = any(${[...ids]}::bigint[])
      order by id`.execute(unit.tables());
    return rows;
  }

  /** What led to the work of these writers: runs, of agents and of scripts. */
  async chains(
    unit: UnitOfWork,
    writers: readonly Pick<LoggedChange, 'writer_type' | 'writer_id'>[],
  ): Promise<(writer: Pick<LoggedChange, 'writer_type' | 'writer_id'>) => Chain> {
    const ids = writers.filter(({ writer_type }) => RUNS.includes(writer_type)).map(one => one.writer_id);
    const { rows } = await sql<{ id: string; chain: Chain | null }>`
      select w.id, coalesce(r.actor, a.actor, c.actor) -> 'chain' as chain
      from unnest(${[...new Set(ids)]}::uuid[]) w (id) left join run r on r.id = w.id
        left join automation_run a on a.id = w.id
        -- The run of an agent may be deleted with its chat.
        left join automation_run c on c.call_id = w.id`.execute(unit.tables());
    const chains = new Map(rows.map(({ id, chain }) => [id, chain ?? NO_CHAIN]));
    return ({ writer_type, writer_id }) =>
      STRANGERS.includes(writer_type) ? BY_STRANGERS : (chains.get(writer_id) ?? NO_CHAIN);
  }

  /** The trigger counts what happens from now on. */
  async begin(unit: UnitOfWork, workspaceId: string, id: string): Promise<void> {
    await sql`
      update automation_trigger set since = now(), cursor = coalesce((
        select seq from workspace_change where workspace_id between ${workspaceId}::uuid and ${workspaceId}::uuid
        order by workspace_id desc, seq desc limit 1), 0)
      where id = ${id}`.execute(unit.tables());
    // Where no trigger was live, nothing was read. One that reads now is up to date.
    await sql`
      with head as (
        select w.id, coalesce(l.last_change, 0) as last from workspace w left join workspace_log l on l.workspace_id = w.id
        where w.id = ${workspaceId}
      ), idle as (
        select c.workspace_id from automation_change_cursor c where c.workspace_id = ${workspaceId} and not exists (
          select from automation_trigger t join automation_deployment d on d.id = t.deployment_id
          where d.workspace_id = c.workspace_id and d.state = 'live' and t.kind = 'file' and t.position is not null
            and t.cursor is not null and t.id <> ${id})
        for update skip locked
      ), moved as (
        update automation_change_cursor c set cursor = greatest(c.cursor, head.last) from head, idle
        where c.workspace_id = idle.workspace_id
      )
      insert into automation_change_cursor (workspace_id, cursor) select id, last from head
      on conflict (workspace_id) do nothing`.execute(unit.tables());
  }

  /** A trigger that was deployed again goes on with what it has gathered; whether it has anything. */
  async goOn(unit: UnitOfWork, id: string): Promise<boolean> {
    const { rows } = await sql`
      update automation_trigger set fire_at = (gathered ->> 'fire_at')::timestamptz
      where id = ${id} and gathered is not null returning 1`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Workspaces with windows that have come to their end. */
  async dueWorkspaces(limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select d.workspace_id as id from automation_trigger t join automation_deployment d on d.id = t.deployment_id
      where t.fire_at <= now() and t.kind = 'file' and d.state = 'live'
      group by d.workspace_id order by min(t.fire_at) limit ${limit}`.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }

  /** Triggers of a workspace whose windows have come to their end; or all with a window, where that is asked. */
  async due(workspaceId: string): Promise<Pick<LiveFileTrigger, 'id' | 'deployment_id'>[]> {
    const { rows } = await sql<Pick<LiveFileTrigger, 'id' | 'deployment_id'>>`
      select t.id, t.deployment_id from automation_trigger t join automation_deployment d on d.id = t.deployment_id
      where d.workspace_id = ${workspaceId} and t.fire_at <= now() and t.kind = 'file' and d.state = 'live'
      order by t.fire_at`.execute(this.database.tables());
    return rows;
  }

  /** The deployment, which no other process fires before `unit` ends, with its triggers that are due. */
  async takeDue(
    unit: UnitOfWork,
    deploymentId: string,
  ): Promise<{ deployment: DeploymentRow; triggers: DueFileTrigger[] } | undefined> {
    const { rows } = await sql<DeploymentRow>`
      select * from automation_deployment where id = ${deploymentId} and state = 'live' for no key update skip locked`.execute(
      unit.tables(),
    );
    const [deployment] = rows;
    if (!deployment) return undefined;
    const { rows: triggers } = await sql<DueFileTrigger>`
      select id, gathered from automation_trigger where deployment_id = ${deploymentId} and kind = 'file'
        and position is not null and gathered is not null and fire_at <= now()
      order by position`.execute(unit.tables());
    return { deployment, triggers };
  }

  /** What could not be fired is tried again later. */
  async putOff(unit: UnitOfWork, deploymentId: string): Promise<void> {
    await sql`update automation_trigger set fire_at = now() + interval '1 minute'
      where deployment_id = ${deploymentId} and kind = 'file' and fire_at <= now()`.execute(unit.tables());
  }

  /** Milliseconds until the next window comes to its end. */
  async next(): Promise<number | undefined> {
    const { rows } = await sql<{ wait: number | null }>`
      select extract(epoch from min(fire_at) - now())::float8 * 1000 as wait from automation_trigger
      where fire_at is not null`.execute(this.database.tables());
    return rows[0]?.wait ?? undefined;
  }
}

const RUNS: readonly string[] = ['run', 'automation'];
/** Visitors, of whom nothing is known. */
const STRANGERS: readonly string[] = ['share', 'form'];
const BY_STRANGERS: Chain = { deployments: [], depth: 0, untrusted: true };
