import { Injectable } from '@nestjs/common';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import type { Actor } from '../../../platform/access/index.js';
import { Database, type Row, type Schema, type UnitOfWork } from '../../../platform/database/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';
import { HostedStore } from '../../gateway/index.js';
import {
  type HostHeader,
  REACHED_FROM,
  type Restart,
  type ServerExit,
  type ServerState,
} from './server-states.js';

export const serverTopic = defineTopic('server');
/** A server has to be started or stopped. Supervisors listen. */
export const serversTopic = defineTopic('servers');

declare global {
  interface ColumnTypes {
    'server.state': ServerState;
    'server.wanted': 'running' | 'stopped';
    'server.restart': Restart;
    'server.host_header': HostHeader;
    'server.actor': Actor | null;
    'server.last_exit': ServerExit | null;
  }
}

export interface ServerRow extends Row<'server'> {
  readonly organization_id: string;
  readonly workspace_number: number;
}

export type ServerChanges = Partial<
  Pick<
    Row<'server'>,
    | 'slug'
    | 'name'
    | 'command'
    | 'install_command'
    | 'folder'
    | 'env_names'
    | 'env_sealed'
    | 'restart'
    | 'health_path'
    | 'overlap'
    | 'sleep_after_seconds'
    | 'port'
    | 'host_header'
    | 'memory_bytes'
    | 'actions'
    | 'connections'
  >
>;

export const reachedFrom = (state: ServerState): RawBuilder<unknown> =>
  sql`state = any(${REACHED_FROM[state]}::text[])`;

/** Servers as configured. For their processes see {@link InstancesStore}. */
@Injectable()
export class ServersStore extends HostedStore<ServerRow> {
  protected readonly kind = 'server';

  constructor(
    database: Database,
    private readonly topics: Topics,
  ) {
    super(database);
  }

  /** Number of other servers of the organization that are to run. Serializes concurrent callers. */
  async countWanted(
    unit: UnitOfWork,
    { id, organization_id }: Pick<ServerRow, 'id' | 'organization_id'>,
  ): Promise<number> {
    await sql`select pg_advisory_xact_lock(hashtext('servers'), hashtext(${organization_id}))`.execute(
      unit.tables(),
    );
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from server s join workspace w on w.id = s.workspace_id
      where w.organization_id = ${organization_id} and s.wanted = 'running' and s.id <> ${id}`.execute(
      unit.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  async add(
    unit: UnitOfWork,
    row: Omit<Insertable<Schema['server']>, 'created_at' | 'updated_at' | 'state_changed_at'>,
  ): Promise<void> {
    const now = new Date();
    await unit
      .tables()
      .insertInto('server')
      .values({ ...row, created_at: now, updated_at: now, state_changed_at: now })
      .execute();
  }

  async update(unit: UnitOfWork, id: string, changes: ServerChanges): Promise<void> {
    const values = { ...changes, updated_at: new Date().toISOString() };
    await unit.tables().updateTable('server').set(values).where('id', '=', id).execute();
    await this.changed(unit, id);
  }

  /** Its process notices, and ends. */
  async remove(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('server').where('id', '=', id).execute();
    await this.notifySupervisors(unit, id);
  }

  /** Starts a new generation: running processes of earlier ones end. `actor`: on whose authority. */
  async start(unit: UnitOfWork, id: string, actor: Actor): Promise<void> {
    await sql`
      update server set wanted = 'running', state = 'starting', reason = null, generation = generation + 1, restarts = 0,
        next_attempt_at = null, actor = ${JSON.stringify(actor)}::jsonb, state_changed_at = now(), updated_at = now()
      where id = ${id} and ${reachedFrom('starting')}`.execute(unit.tables());
    await this.notifySupervisors(unit, id);
  }

  /** Starts a new generation on the authority of `actor`. False if the server does not run. */
  async restart(unit: UnitOfWork, id: string, actor: Actor): Promise<boolean> {
    const { rows } = await sql`
      update server set state = 'starting', reason = null, generation = generation + 1, next_attempt_at = null,
        actor = ${JSON.stringify(actor)}::jsonb, state_changed_at = now()
      where id = ${id} and wanted = 'running' and state in ('starting', 'running', 'crashed') returning id`.execute(
      unit.tables(),
    );
    if (rows.length > 0) await this.notifySupervisors(unit, id);
    return rows.length > 0;
  }

  async stop(unit: UnitOfWork, id: string, reason: string): Promise<void> {
    await sql`
      update server set wanted = 'stopped', state = 'stopped', reason = ${reason}, generation = generation + 1,
        next_attempt_at = null, state_changed_at = now(), updated_at = now()
      where id = ${id} and ${reachedFrom('stopped')}`.execute(unit.tables());
    await this.notifySupervisors(unit, id);
  }

  /** False if the server does not sleep. Concurrent requests wake it once. */
  async wake(id: string): Promise<boolean> {
    const { rows } = await sql`
      update server set state = 'starting', reason = null, state_changed_at = now(), last_request_at = now()
      where id = ${id} and state = 'sleeping' and wanted = 'running' returning id`.execute(
      this.database.tables(),
    );
    if (rows.length > 0) this.topics.publish(serverTopic(id), serversTopic());
    return rows.length > 0;
  }

  /** Records that the servers are in use. */
  async touch(ids: readonly string[]): Promise<void> {
    await sql`update server set last_request_at = now() where id = any(${[...ids]}::uuid[])`.execute(
      this.database.tables(),
    );
  }

  async changed(unit: UnitOfWork, id: string): Promise<void> {
    await this.topics.publishWithCommit(unit, serverTopic(id));
  }

  private async notifySupervisors(unit: UnitOfWork, id: string): Promise<void> {
    await this.changed(unit, id);
    await this.topics.publishWithCommit(unit, serversTopic());
  }
}
