import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, visibleTo, type WorkspacePermission } from '../../../platform/access/index.js';
import { Subject } from '../../../platform/actions/index.js';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../../platform/dto/index.js';
import { NotFound, unseenAs } from '../../../platform/errors/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { type LeasedRows, Leases } from '../../../platform/leases/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import type { IterationRow, LoopRow, LoopState } from './loop-state.js';

type Queries = Pick<Database, 'tables'>;

const HOUR_MS = 3_600_000;
/** Ended loops are kept so long. */
const KEPT_DAYS = 90;
const REMOVED_AT_ONCE = 500;

interface Filter extends PageInput {
  readonly workspace_id?: string;
  readonly state?: LoopState;
}

/** Reads loops. */
@Injectable()
export class LoopsStore {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    leases: Leases,
  ) {
    this.rows = leases.rows('loop', { alias: 'l' });
  }

  find(id: string, within: Queries = this.database): Promise<LoopRow | undefined> {
    return within.tables().selectFrom('loop').selectAll().where('id', '=', id).executeTakeFirst();
  }

  @Subject('loop', 'workspace', ({ organization_id, workspace_id }: LoopRow) => ({
    organization_id,
    workspace_id,
  }))
  async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<LoopRow> {
    const row = await this.find(id);
    if (!row) throw new NotFound('No such loop');
    await unseenAs('No such loop', this.workspaces.require(actor, permission, row.workspace_id));
    return row;
  }

  /** Locks it until the unit of work ends. */
  async lock(unit: UnitOfWork, id: string): Promise<LoopRow> {
    const query = unit.tables().selectFrom('loop').selectAll().where('id', '=', id).forUpdate();
    return query.executeTakeFirstOrThrow(() => new NotFound('No such loop'));
  }

  /** Of workspaces that the caller sees, newest first. */
  list(actor: Actor, { workspace_id, state, ...page }: Filter): Promise<Page<LoopRow>> {
    let query = this.database
      .tables()
      .selectFrom('loop as l')
      .innerJoin(visibleTo<Row<'workspace'>>(actor).as('w'), 'w.id', 'l.workspace_id')
      .selectAll('l');
    if (workspace_id) query = query.where('l.workspace_id', '=', workspace_id);
    if (state) query = query.where('l.state', '=', state);
    return selectPage(query, page, { by: 'l.id', newestFirst: true });
  }

  /** In their order. */
  iterations(id: string, within: Queries = this.database): Promise<IterationRow[]> {
    return within
      .tables()
      .selectFrom('loop_iteration')
      .selectAll()
      .where('loop_id', '=', id)
      .orderBy('number')
      .execute();
  }

  async code(id: string): Promise<Buffer | undefined> {
    const query = this.database.tables().selectFrom('loop_check').select('code').where('loop_id', '=', id);
    return (await query.executeTakeFirst())?.code;
  }

  async events(id: string, after: number, limit: number): Promise<Row<'loop_event'>[]> {
    return this.database
      .tables()
      .selectFrom('loop_event')
      .selectAll()
      .where('loop_id', '=', id)
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /** How many of a workspace have not ended. Of two transactions that ask, one waits for the other to end. */
  async countOpen(unit: UnitOfWork, workspaceId: string): Promise<number> {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`loops ${workspaceId}`}, 0))`.execute(
      unit.tables(),
    );
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from loop where workspace_id = ${workspaceId} and state <> 'done'`.execute(
      unit.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  /** Whether a run is an iteration of a loop, or a task below one. */
  async isWithinLoop(callId: string): Promise<boolean> {
    const { rows } = await sql<{ within: boolean }>`
      with recursive above as (
        select id, parent_id, loop_id from run where id = ${callId}
        union all
        select r.id, r.parent_id, r.loop_id from run r join above a on r.id = a.parent_id
      )
      select coalesce(bool_or(loop_id is not null), false) as within from above`.execute(
      this.database.tables(),
    );
    return rows[0]?.within ?? false;
  }

  /** The one whose next iteration is due first. */
  async due(): Promise<LoopRow | undefined> {
    const { rows } = await sql<LoopRow>`
      select * from loop where state = 'waiting' and next_at <= now() order by next_at, id limit 1`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  /** Milliseconds until the next iteration is due. */
  dueIn(): Promise<number | undefined> {
    return this.msUntilNext('waiting');
  }

  /** Milliseconds until the next grading that failed is tried again. */
  gradingDueIn(): Promise<number | undefined> {
    return this.msUntilNext('grading');
  }

  /** One whose run has ended or is gone, or whose grading nobody does, locked; those that others look at are passed over. */
  async ended(unit: UnitOfWork): Promise<LoopRow | undefined> {
    const { rows } = await sql<LoopRow>`
      select l.* from loop l
      where l.state = 'running' and not exists (select from run r where r.id = l.call_id and r.status = 'pending')
        or l.state = 'grading' and ${this.rows.isFree} and coalesce(l.next_at, now()) <= now()
      order by l.id limit 1 for update of l skip locked`.execute(unit.tables());
    return rows[0];
  }

  /** What a run has used, together with its tasks; a run that is gone, nothing that is known. */
  async used(unit: UnitOfWork, callId: string): Promise<{ usd: number | null; seconds: number }> {
    const { rows } = await sql<{ usd: number | null; seconds: number | null }>`
      with recursive family as (
        select id, step_count, cost_usd from run where id = ${callId}
        union all
        select r.id, r.step_count, r.cost_usd from run r join family f on r.parent_id = f.id
      )
      select case when bool_or(step_count > 0 and cost_usd is null) then null else coalesce(sum(cost_usd), 0) end as usd, (
          select greatest(0, extract(epoch from finished_at - started_at) - waited_ms / 1000.0)::float8 from run where id = ${callId}
        ) as seconds
      from family`.execute(unit.tables());
    return { usd: rows[0]?.usd ?? null, seconds: rows[0]?.seconds ?? 0 };
  }

  /** The runs of all iterations so far, with their tasks. */
  async runsOf(id: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      with recursive family as (
        select r.id from loop_iteration i join run r on r.id = i.call_id where i.loop_id = ${id}
        union all
        select r.id from run r join family f on r.parent_id = f.id
      )
      select id from family`.execute(this.database.tables());
    return rows.map(row => row.id);
  }

  @Chore('remove_old_loops', { everyMs: HOUR_MS })
  async removeOld(): Promise<void> {
    await sql`
      delete from loop where id in (
        select id from loop where state = 'done' and finished_at < now() - make_interval(days => ${KEPT_DAYS})
        order by finished_at limit ${REMOVED_AT_ONCE})`.execute(this.database.tables());
  }

  private async msUntilNext(state: 'waiting' | 'grading'): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number | null }>`
      select (extract(epoch from min(next_at) - now()) * 1000)::float8 as ms from loop
      where state = ${state} and next_at is not null`.execute(this.database.tables());
    return rows[0]?.ms ?? undefined;
  }
}
