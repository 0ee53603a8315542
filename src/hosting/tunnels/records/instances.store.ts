import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Config } from '../../../platform/config/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { serverCrashed, serverFailed } from './server-events.js';
import type { InstanceState, ServerExit, ServerState } from './server-states.js';
import { reachedFrom, serversTopic, serverTopic } from './servers.store.js';

/** How other processes reach the holder: by socket on the same machine, or by TCP. */
export interface InstanceAddress {
  /** Unix socket, for processes of the same machine. */
  readonly path?: string;
  readonly host?: string;
  readonly port?: number;
}

declare global {
  interface ColumnTypes {
    'server_instance.state': InstanceState;
    'server_instance.address': InstanceAddress | null;
    'server_instance.exit': ServerExit | null;
  }
}

export type InstanceRow = Row<'server_instance'>;
const live = (which: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`select from server_instance i where i.server_id = s.id and i.state <> 'ended' and ${which}`;

type InstanceKey = Pick<InstanceRow, 'id' | 'server_id' | 'generation'>;

export interface EndState {
  readonly state: Exclude<ServerState, 'running'>;
  readonly reason: string | null;
  /** For `crashed`: seconds until the next attempt. */
  readonly retryInSeconds?: number;
  readonly restarts?: number;
}

@Injectable()
export class InstancesStore {
  private readonly leased;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly events: Events,
    private readonly leases: Leases,
  ) {
    this.leased = leases.rows('server_instance');
  }

  /**
   * Claims a server to start or retry. Servers with `overlap` get a successor beside the running instance. Undefined if there
   * is none.
   */
  async claim(): Promise<InstanceRow | undefined> {
    const { rows } = await sql<InstanceRow>`
      with candidate as (
        select s.id, exists (${live(sql`true`)}) as has_predecessor from server s
        where (s.state = 'starting' or (s.state = 'crashed' and s.next_attempt_at <= now()))
          and not exists (${live(sql`not (s.overlap and i.state = 'running' and i.generation <> s.generation)`)})
        order by s.state_changed_at limit 1 for no key update skip locked
      ), begun as (
        update server set state = 'starting', next_attempt_at = null, state_changed_at = now() from candidate
        where server.id = candidate.id returning server.id, server.generation, candidate.has_predecessor
      )
      insert into server_instance (id, server_id, generation, state, holder, is_successor, started_at)
      select ${newId()}, id, generation, 'starting', ${this.processId}, has_predecessor, now() from begun
      on conflict do nothing
      returning *`.execute(this.database.tables());
    const [claimed] = rows;
    if (claimed) this.topics.publish(serverTopic(claimed.server_id));
    return claimed;
  }

  watch(serverId: string, wake: () => void): () => void {
    return this.topics.subscribe(serverTopic(serverId), wake);
  }

  /** Undefined if no server has crashed. */
  async secondsToRetry(): Promise<number | undefined> {
    const { rows } = await sql<{ seconds: number | null }>`
      select extract(epoch from min(next_attempt_at) - now())::float8 as seconds
      from server where state = 'crashed'`.execute(this.database.tables());
    return rows[0]?.seconds ?? undefined;
  }

  async find(id: string, within: Pick<Database, 'tables'> = this.database): Promise<InstanceRow | undefined> {
    return within.tables().selectFrom('server_instance').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** The running instance, or the one that starts. Undefined if there is none. */
  async current(
    serverId: string,
    within: Pick<Database, 'tables'> = this.database,
  ): Promise<InstanceRow | undefined> {
    const { rows } = await sql<InstanceRow>`
      select i.* from server_instance i join server s on s.id = i.server_id
      where i.server_id = ${serverId} and i.state in ('starting', 'running')
      order by i.state = 'running' desc, i.generation = s.generation desc, i.started_at desc limit 1`.execute(
      within.tables(),
    );
    return rows[0];
  }

  /** Instances held by this process. `is_wanted` is false for those that must end. */
  async ours(): Promise<(InstanceRow & { is_wanted: boolean })[]> {
    const { rows } = await sql<InstanceRow & { is_wanted: boolean }>`
      select i.*, i.generation = s.generation and s.state in ('starting', 'running') as is_wanted
      from server_instance i join server s on s.id = i.server_id
      where i.holder = ${this.processId} and i.state <> 'ended'`.execute(this.database.tables());
    return rows;
  }

  async currentByServer(serverIds: readonly string[]): Promise<Map<string, InstanceRow>> {
    const { rows } = await sql<InstanceRow>`
      select distinct on (server_id) * from server_instance
      where server_id = any(${[...serverIds]}::uuid[]) and state in ('starting', 'running')
      order by server_id, state = 'running' desc, started_at desc`.execute(this.database.tables());
    return new Map(rows.map(row => [row.server_id, row]));
  }

  /** Marks the instance as running, and its predecessor as draining. False if it must end. Idempotent. */
  ready(
    { id, server_id, generation }: InstanceKey,
    { address, port }: { address: InstanceAddress | null; port: number | null },
  ): Promise<boolean> {
    return this.database.transaction(async unit => {
      const { rows: served } = await sql`
        update server set state = 'running', reason = null, state_changed_at = now()
        where id = ${server_id} and generation = ${generation} and ${reachedFrom('running')}
          and exists (select from server_instance where id = ${id} and state = 'starting') returning id`.execute(
        unit.tables(),
      );
      if (served.length === 0) return (await this.find(id, unit))?.state === 'running';
      await sql`
        update server_instance set state = 'draining'
        where server_id = ${server_id} and id <> ${id} and state = 'running'`.execute(unit.tables());
      await sql`
        update server_instance set state = 'running', ready_at = now(), port = ${port}, is_successor = false,
          address = ${JSON.stringify(address)}::jsonb
        where id = ${id}`.execute(unit.tables());
      await this.changed(unit, server_id);
      return true;
    });
  }

  /** `after` is ignored if the server was stopped, restarted or changed meanwhile. Returns whether it counted. */
  end(
    { id, server_id, generation }: InstanceKey,
    exit: ServerExit | null,
    after?: EndState,
  ): Promise<boolean> {
    const written = exit && JSON.stringify(exit);
    return this.database.transaction(async unit => {
      const { rows } = await sql`
        update server_instance set state = 'ended', ended_at = now(), exit = ${written}::jsonb, ${this.leased.released}
        where id = ${id} and state <> 'ended' returning id`.execute(unit.tables());
      // It was taken for lost, and its server is another one's by now.
      if (rows.length === 0) return false;
      await sql`
        update server set last_exit = ${written}::jsonb where id = ${server_id} and ${written}::jsonb is not null`.execute(
        unit.tables(),
      );
      const key = { id: server_id, generation };
      const isCounted =
        after !== undefined &&
        !(await this.leaveToPredecessor(unit, key, after)) &&
        (await this.move(unit, key, after));
      if (isCounted) await this.publish(unit, { server_id, instance_id: id }, after);
      await this.changed(unit, server_id);
      return isCounted;
    });
  }

  /** Ends instances of lost processes, and marks their servers for a restart. Returns server ids. */
  endLost(): Promise<string[]> {
    return this.database.transaction(unit => this.endLostIn(unit));
  }

  private async endLostIn(unit: UnitOfWork): Promise<string[]> {
    const { rows } = await sql<{ server_id: string }>`
      update server_instance set state = 'ended', ended_at = now(), ${this.leased.released}
      where state <> 'ended' and ${this.leased.isOrphaned} returning server_id`.execute(unit.tables());
    const ids = rows.map(({ server_id }) => server_id);
    await sql`
      update server set state = 'starting', reason = 'The process that ran it was lost', state_changed_at = now()
      where id = any(${ids}::uuid[]) and state = 'running'`.execute(unit.tables());
    for (const id of ids) await this.changed(unit, id);
    return ids;
  }

  async crashesSince(serverId: string, seconds: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from server_instance i join server s on s.id = i.server_id
      where i.server_id = ${serverId} and i.generation = s.generation and i.exit is not null
        and i.ended_at > now() - make_interval(secs => ${seconds})`.execute(this.database.tables());
    return rows[0]?.count ?? 0;
  }

  /** Seconds until the server is idle long enough to sleep; undefined if it never sleeps. */
  async secondsToSleep({ id }: Pick<InstanceRow, 'id'>): Promise<number | undefined> {
    const byDefault = this.config.serverLimits.idle_seconds;
    const { rows } = await sql<{ seconds: number }>`
      select (coalesce(s.sleep_after_seconds, ${byDefault})
        - extract(epoch from now() - greatest(s.last_request_at, i.ready_at)))::float8 as seconds
      from server_instance i join server s on s.id = i.server_id
      where i.id = ${id} and i.state = 'running' and coalesce(s.sleep_after_seconds, ${byDefault}) > 0`.execute(
      this.database.tables(),
    );
    return rows[0]?.seconds;
  }

  /** Records why a starting server is not ready yet. */
  async tell({ server_id, generation }: InstanceKey, reason: string): Promise<void> {
    await sql`
      update server set reason = ${reason}
      where id = ${server_id} and generation = ${generation} and state = 'starting'`.execute(
      this.database.tables(),
    );
    this.topics.publish(serverTopic(server_id));
  }

  async report(id: string, { memoryBytes, cpuMs }: { memoryBytes: number; cpuMs: number }): Promise<void> {
    await sql`
      update server_instance set memory_bytes = ${Math.round(memoryBytes)}, cpu_ms = ${Math.round(cpuMs)}
      where id = ${id} and state <> 'ended'`.execute(this.database.tables());
  }

  /** Running time not metered yet, of one server or all. */
  async takeSeconds(
    unit: UnitOfWork,
    serverId: string | null,
  ): Promise<{ organizationId: string; workspaceId: string; actorId: string; seconds: number }[]> {
    const { rows } = await sql<{
      organizationId: string;
      workspaceId: string;
      actorId: string;
      seconds: number;
    }>`
      with taken as (
        update server_instance i set metered_until = coalesce(i.ended_at, now())
        from (
          select id, coalesce(metered_until, started_at) as since from server_instance
          where (${serverId}::uuid is null or server_id = ${serverId}::uuid)
            and coalesce(metered_until, started_at) < coalesce(ended_at, now())
          for update
        ) old
        where i.id = old.id returning i.server_id, extract(epoch from i.metered_until - old.since) as seconds)
      select w.organization_id as "organizationId", w.id as "workspaceId",
        coalesce((s.actor ->> 'id')::uuid, s.created_by) as "actorId", sum(taken.seconds)::float8 as seconds
      from taken join server s on s.id = taken.server_id join workspace w on w.id = s.workspace_id
      group by 1, 2, 3 order by 2, 3`.execute(unit.tables());
    return rows;
  }

  /** Removes metered instances, but for the newest `kept` per server. */
  async forgetOld(kept: number): Promise<void> {
    await sql`
      delete from server_instance i where i.state = 'ended' and i.metered_until >= i.ended_at and i.id in (
        select id from (
          select id, row_number() over (partition by server_id order by started_at desc) as place from server_instance
        ) numbered where place > ${kept})`.execute(this.database.tables());
  }

  /** The successor failed, so the previous instance stays in charge. */
  private async leaveToPredecessor(
    unit: UnitOfWork,
    { id, generation }: { id: string; generation: number },
    { reason }: EndState,
  ): Promise<boolean> {
    const { rows } = await sql`
      update server set state = 'running', generation = i.generation, state_changed_at = now(),
        reason = ${`The one before goes on, as the new one failed. ${reason ?? ''}`}
      from server_instance i
      where server.id = ${id} and server.generation = ${generation} and server.state = 'starting'
        and i.server_id = server.id and i.state = 'running' returning server.id`.execute(unit.tables());
    return rows.length > 0;
  }

  private async move(
    unit: UnitOfWork,
    { id, generation }: { id: string; generation: number },
    { state, reason, retryInSeconds, restarts }: EndState,
  ): Promise<boolean> {
    const { rows } = await sql`
      update server set state = ${state}, reason = ${reason}, state_changed_at = now(),
        wanted = case when ${state} in ('stopped', 'failed') then 'stopped' else wanted end,
        restarts = coalesce(${restarts ?? null}::int, restarts),
        next_attempt_at = now() + make_interval(secs => ${retryInSeconds ?? null}::float8)
      where id = ${id} and generation = ${generation} and ${reachedFrom(state)} returning id`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  private async publish(
    unit: UnitOfWork,
    ids: { server_id: string; instance_id: string },
    { state, restarts }: EndState,
  ): Promise<void> {
    if (state === 'failed') await this.events.publish(unit, serverFailed, ids);
    else if (state === 'crashed' && restarts === 1) await this.events.publish(unit, serverCrashed, ids);
  }

  private get processId(): string {
    return this.leases.processId;
  }

  private async changed(unit: UnitOfWork, serverId: string): Promise<void> {
    await this.topics.publishWithCommit(unit, serverTopic(serverId));
    await this.topics.publishWithCommit(unit, serversTopic());
  }
}
