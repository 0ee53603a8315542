import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { storableText } from '#libs/fields/index.js';
import { UNATTENDED_ENDS } from '../../../agents/runs/index.js';
import { type Actor, visibleTo, type WorkspacePermission } from '../../../platform/access/index.js';
import { Subject } from '../../../platform/actions/index.js';
import { Database, type Row, storable, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../../platform/dto/index.js';
import { NotFound, unseenAs } from '../../../platform/errors/index.js';
import { type LeasedRows, Leases } from '../../../platform/leases/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import { recordRunEvents } from './automation-events.store.js';
import { AUTOMATION_RUNS_QUEUED, automationRunTopic } from './automation-states.js';

type Queries = Pick<Database, 'tables'>;
export type AutomationRunRow = Row<'automation_run'>;

const MAX_PATHS = 10_000;

/** How a run ended. */
export interface RunOutcome {
  readonly status: 'completed' | 'error';
  readonly stop_reason: string | null;
  readonly error: string | null;
  readonly output?: unknown;
  readonly log?: string;
  readonly exit_code?: number | null;
  readonly cost_usd?: number | null;
}

/** The agent's run of an automation, once it has ended; null where it was deleted. */
export interface EndedAgentRun {
  readonly id: string;
  readonly attempt: number;
  readonly run: Pick<
    Row<'run'>,
    'status' | 'stop_reason' | 'error' | 'response' | 'response_json' | 'cost_usd' | 'started_at'
  > | null;
}

/** One try of a run. */
export type RunTry = Pick<AutomationRunRow, 'id' | 'attempt'>;

export type PrintedPiece = Pick<Row<'automation_output'>, 'number' | 'text' | 'created_at'>;

/** A run as it is added, with values as JSON has them. */
export type NewRun = Pick<
  AutomationRunRow,
  | 'id'
  | 'organization_id'
  | 'workspace_id'
  | 'deployment_id'
  | 'version'
  | 'file_path'
  | 'delivery_id'
  | 'trigger_kind'
  | 'kind'
  | 'lane'
  | 'lane_max'
  | 'actor'
  | 'chain'
  | 'scheduled_for'
  | 'replay_of'
  | 'attempt'
  | 'draft'
  | 'is_asked'
> & {
  /** It may start so many seconds later. */
  readonly delay_seconds?: number;
};

/** Runs of a workspace that share a limit of how many there are at once. */
export interface Lane {
  readonly workspaceId: string;
  readonly lane: string;
}

/** What others of a lane ask about its runs that have not ended. */
export interface OpenRuns {
  /** How many wait to begin. */
  readonly queued: number;
  /** Oldest first. */
  readonly ids: readonly string[];
}

interface Filter extends PageInput {
  readonly workspace_id?: string;
  readonly deployment_id?: string;
  readonly status?: AutomationRunRow['status'];
  readonly kind?: AutomationRunRow['trigger_kind'];
  readonly q?: string;
  readonly from?: string;
  readonly to?: string;
}

/** Runs of automations. */
@Injectable()
export class AutomationRunsStore {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly leases: Leases,
    private readonly topics: Topics,
  ) {
    this.rows = leases.rows('automation_run');
  }

  async addAll(unit: UnitOfWork, rows: readonly NewRun[]): Promise<void> {
    if (rows.length === 0) return;
    const change = sql`
      insert into automation_run (id, organization_id, workspace_id, deployment_id, version, file_path, delivery_id, trigger_kind, kind,
        lane, lane_max, actor, chain, scheduled_for, replay_of, attempt, draft, is_asked, state, status, queued_at, not_before)
      select id, organization_id, workspace_id, deployment_id, version, file_path, delivery_id, trigger_kind, kind,
        lane, lane_max, actor, chain, scheduled_for, replay_of, attempt, draft, is_asked, 'queued', 'pending', now(),
        now() + delay_seconds * interval '1 second'
      from json_to_recordset(${JSON.stringify(rows)}::json) as t (id uuid, organization_id uuid, workspace_id uuid,
        deployment_id uuid, version int, file_path text, delivery_id uuid, trigger_kind text, kind text, lane text, lane_max int,
        actor jsonb, chain uuid[], scheduled_for timestamptz, replay_of uuid, attempt int, draft jsonb, is_asked boolean,
        delay_seconds float8)`;
    const queued = rows.map(row => ({ ...row, status: 'pending' as const, stop_reason: null }));
    await recordRunEvents(unit, this.topics, 'queued', queued, change);
    this.topics.publishAfterCommit(unit, AUTOMATION_RUNS_QUEUED);
  }

  find(id: string, within: Queries = this.database): Promise<AutomationRunRow | undefined> {
    return within.tables().selectFrom('automation_run').selectAll().where('id', '=', id).executeTakeFirst();
  }

  @Subject('automation_run', 'workspace', ({ organization_id, workspace_id }: AutomationRunRow) => ({
    organization_id,
    workspace_id,
  }))
  async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<AutomationRunRow> {
    const row = await this.find(id);
    if (!row) throw new NotFound('No such run of an automation');
    await unseenAs(
      'No such run of an automation',
      this.workspaces.require(actor, permission, row.workspace_id),
    );
    return row;
  }

  /** Of workspaces that the caller sees, newest first. */
  list(actor: Actor, filter: Filter): Promise<Page<AutomationRunRow>> {
    const { workspace_id, deployment_id, status, kind, q, from, to, ...page } = filter;
    let query = this.database
      .tables()
      .selectFrom('automation_run as r')
      .innerJoin(visibleTo<Row<'workspace'>>(actor).as('w'), 'w.id', 'r.workspace_id')
      .selectAll('r');
    if (workspace_id) query = query.where('r.workspace_id', '=', workspace_id);
    if (deployment_id) query = query.where('r.deployment_id', '=', deployment_id);
    if (status) query = query.where('r.status', '=', status);
    if (kind) query = query.where('r.trigger_kind', '=', kind);
    if (q) query = query.where(holds(q));
    if (from) query = query.where('r.queued_at', '>=', from);
    if (to) query = query.where('r.queued_at', '<', to);
    return selectPage(query, page, { by: 'r.id', newestFirst: true });
  }

  /** The run whose work an agent's run is. */
  ofAgentRun(callId: string): Promise<AutomationRunRow | undefined> {
    return this.database
      .tables()
      .selectFrom('automation_run')
      .selectAll()
      .where('call_id', '=', callId)
      .executeTakeFirst();
  }

  /** Of two transactions that ask about the runs of a lane, one waits for the other to end; all take lanes in one order. */
  async lockLanes(unit: UnitOfWork, lanes: readonly Lane[]): Promise<void> {
    if (lanes.length === 0) return;
    const names = lanes.map(nameOf);
    await sql`select pg_advisory_xact_lock(key) from (
      select distinct hashtextextended(name, 0) as key from unnest(${names}::text[]) as name order by key offset 0) as keys`.execute(
      unit.tables(),
    );
  }

  /** As {@link lockLanes}, of one, where no one has it; whether it is locked now. */
  private async isLaneFree(unit: UnitOfWork, lane: Lane): Promise<boolean> {
    const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended(${nameOf(lane)}, 0)) as locked`.execute(
      unit.tables(),
    );
    return rows[0]?.locked === true;
  }

  /** Those of lanes that have not ended, in the order of the lanes. */
  async openIn(unit: UnitOfWork, lanes: readonly Lane[]): Promise<OpenRuns[]> {
    const { rows } = await sql<OpenRuns>`
      select open.queued, open.ids from unnest(${lanes.map(({ workspaceId }) => workspaceId)}::uuid[],
        ${lanes.map(({ lane }) => lane)}::text[]) with ordinality as asked (workspace_id, lane, n)
      cross join lateral (
        select count(*) filter (where r.state = 'queued')::int as queued, coalesce(array_agg(r.id order by r.id), '{}') as ids
        from automation_run r
        where r.workspace_id = asked.workspace_id and r.lane = asked.lane and r.state <> 'done') as open
      order by asked.n`.execute(unit.tables());
    return rows;
  }

  /** What people are asked about runs, or tasks of them, by the run. */
  async approvalsOf(
    runs: readonly string[],
    within: Queries = this.database,
  ): Promise<ReadonlyMap<string, string>> {
    if (runs.length === 0) return new Map();
    const { rows } = await sql<{ automation_run_id: string; id: string }>`
      with recursive work as (
        select id, automation_run_id from run where automation_run_id = any(${[...runs]}::uuid[]) and status = 'pending'
        union all
        select r.id, w.automation_run_id from run r join work w on r.parent_id = w.id where r.status = 'pending'
      )
      select work.automation_run_id, a.id from approval a join work on a.run_id = work.id where a.status = 'pending'
      order by a.id desc`.execute(within.tables());
    return new Map(rows.map(row => [row.automation_run_id, row.id]));
  }

  /** Those of a deployment that have not ended. */
  openOf(unit: UnitOfWork, deploymentId: string): Promise<AutomationRunRow[]> {
    return unit
      .tables()
      .selectFrom('automation_run')
      .selectAll()
      .where('deployment_id', '=', deploymentId)
      .where('state', '<>', 'done')
      .orderBy('id')
      .execute();
  }

  /** How many a deployment has begun since, and what they cost. */
  async since(unit: UnitOfWork, deploymentId: string, since: Date): Promise<{ runs: number; usd: number }> {
    const { rows } = await sql<{ runs: number; usd: number }>`
      select count(*)::int as runs, coalesce(sum(a.cost_usd), 0) + coalesce((
        select sum(r.cost_usd) from automation_run o join run r on r.id = o.call_id
        where o.deployment_id = ${deploymentId} and o.state = 'running'), 0) as usd
      from automation_run a where a.deployment_id = ${deploymentId} and a.queued_at >= ${since}`.execute(
      unit.tables(),
    );
    return rows[0] ?? { runs: 0, usd: 0 };
  }

  /**
   * The oldest run that may start, taken by this process; undefined where none may, 'gone' where another process was quicker
   * and the next one has to be looked for.
   */
  async takeQueued(unit: UnitOfWork): Promise<AutomationRunRow | 'gone' | undefined> {
    await sql`savepoint looking`.execute(unit.tables());
    const { rows } = await sql<Pick<AutomationRunRow, 'id' | 'workspace_id' | 'lane'>>`
      select q.id, q.workspace_id, q.lane from automation_run q
      where q.state = 'queued' and (q.not_before is null or q.not_before <= now()) and ${isNotPaused} and ${hasRoom}
      order by q.id limit 1 for update of q skip locked`.execute(unit.tables());
    const [next] = rows;
    if (!next) return undefined;
    const lane = { workspaceId: next.workspace_id, lane: next.lane };
    if (!(await this.isLaneFree(unit, lane))) {
      // Another transaction that has the lane may want to end this run: it must not wait for one that waits for the lane.
      await sql`rollback to savepoint looking`.execute(unit.tables());
      await this.lockLanes(unit, [lane]);
    }
    const { rows: taken } = await sql<AutomationRunRow>`
      update automation_run q set state = 'starting', ${this.rows.claimed}
      where q.id = ${next.id} and q.state = 'queued' and ${isNotPaused} and ${hasRoom} returning *`.execute(
      unit.tables(),
    );
    return taken[0] ?? 'gone';
  }

  /** The agent of a run is at work, or its script begins here. */
  async begin(
    unit: UnitOfWork,
    id: string,
    work: { chat_id: string; call_id: string } | 'script',
  ): Promise<boolean> {
    const ids =
      work === 'script'
        ? sql``
        : sql`, chat_id = ${work.chat_id}, call_id = ${work.call_id}, ${this.rows.released}`;
    const { rows } = await sql<AutomationRunRow>`
      update automation_run set state = 'running', started_at = now()${ids}
      where id = ${id} and state = 'starting' and cancelled_at is null returning *`.execute(unit.tables());
    const [begun] = rows;
    if (!begun) return false;
    await recordRunEvents(unit, this.topics, 'started', [begun]);
    this.topics.publishAfterCommit(unit, automationRunTopic(id));
    return true;
  }

  /** Ends a run, once; undefined where it has ended already, or goes on with another try. */
  async finish(
    unit: UnitOfWork,
    { id, attempt }: RunTry,
    outcome: RunOutcome,
  ): Promise<AutomationRunRow | undefined> {
    const { status, stop_reason, error, output, log, exit_code, cost_usd } = outcome;
    const { rows } = await sql<AutomationRunRow>`
      update automation_run set state = 'done', status = ${status}, stop_reason = ${stop_reason}, error = ${error},
        output = ${output === undefined ? null : storable(output)}::jsonb, log = ${log ?? null}, exit_code = ${exit_code ?? null},
        cost_usd = ${costWith(cost_usd)}, not_before = null, finished_at = now(), ${this.rows.released}
      where id = ${id} and attempt = ${attempt} and state <> 'done' returning *`.execute(unit.tables());
    const [ended] = rows;
    if (!ended) return undefined;
    await recordRunEvents(unit, this.topics, status === 'completed' ? 'completed' : 'failed', [ended]);
    this.topics.publishAfterCommit(unit, automationRunTopic(id), AUTOMATION_RUNS_QUEUED);
    return ended;
  }

  /**
   * Writes down a try that failed, and lets the run wait for the next one. False where this is not the try under way any more,
   * or somebody wants the run to end.
   */
  async retry(
    unit: UnitOfWork,
    { id, attempt }: RunTry,
    outcome: RunOutcome,
    delaySeconds: number,
  ): Promise<boolean> {
    const { stop_reason, error, exit_code, cost_usd } = outcome;
    const { rows } = await sql<AutomationRunRow>`
      update automation_run set state = 'queued', started_at = null, chat_id = null, call_id = null, attempt = attempt + 1,
        not_before = now() + ${delaySeconds} * interval '1 second', cost_usd = ${costWith(cost_usd)},
        tries = tries || jsonb_build_array(jsonb_build_object('attempt', attempt, 'stop_reason', ${stop_reason}::text,
          'error', ${error}::text, 'exit_code', ${exit_code ?? null}::int, 'chat_id', chat_id, 'call_id', call_id,
          'started_at', started_at, 'finished_at', now())), ${this.rows.released}
      where id = ${id} and attempt = ${attempt} and state in ('starting', 'running') and cancelled_at is null
      returning *`.execute(unit.tables());
    const [waiting] = rows;
    if (!waiting) return false;
    await recordRunEvents(unit, this.topics, 'queued', [waiting]);
    this.topics.publishAfterCommit(unit, automationRunTopic(id), AUTOMATION_RUNS_QUEUED);
    return true;
  }

  /** Somebody wants it to end. */
  async cancel(unit: UnitOfWork, id: string): Promise<void> {
    await sql`update automation_run set cancelled_at = coalesce(cancelled_at, now()) where id = ${id} and state <> 'done'`.execute(
      unit.tables(),
    );
    await this.topics.publishWithCommit(unit, automationRunTopic(id));
    await this.topics.publishWithCommit(unit, UNATTENDED_ENDS);
  }

  /** Agents at work that are to end. */
  async cancelledAgents(limit: number): Promise<{ chat_id: string; call_id: string }[]> {
    const { rows } = await sql<{ chat_id: string; call_id: string }>`
      select a.chat_id, a.call_id from automation_run a join run r on r.id = a.call_id
      where a.state = 'running' and a.kind = 'agent' and a.cancelled_at is not null and r.status = 'pending'
      order by a.id limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  async isCancelled(id: string): Promise<boolean> {
    const row = await this.find(id);
    return !row || row.cancelled_at !== null || row.state === 'done';
  }

  /** Runs of agents that have ended and are not written down as ended here. */
  async ended(limit: number): Promise<EndedAgentRun[]> {
    const { rows } = await sql<EndedAgentRun>`
      select a.id, a.attempt, case when r.id is null then null else jsonb_build_object('status', r.status, 'stop_reason', r.stop_reason,
        'error', r.error, 'response', r.response, 'response_json', r.response_json, 'cost_usd', r.cost_usd,
        'started_at', r.started_at) end as run
      from automation_run a left join run r on r.id = a.call_id
      where a.state = 'running' and a.kind = 'agent' and (r.id is null or r.status <> 'pending')
      order by a.id limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  /** What a script prints, as far as it is kept: behind what it has printed by then. */
  async print(id: string, number: number, texts: readonly string[]): Promise<void> {
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    await sql`
      with grown as (
        update automation_run set output_bytes = output_bytes + ${bytes} where id = ${id} and state = 'running' returning id)
      insert into automation_output (run_id, number, text, created_at)
      select grown.id, ${number} + piece.n, piece.text, now()
      from grown, unnest(${texts.map(storableText)}::text[]) with ordinality as piece(text, n)`.execute(
      this.database.tables(),
    );
    this.topics.publish(automationRunTopic(id));
  }

  /** What a script printed, behind a piece of it. */
  async printed(id: string, after: number, limit: number): Promise<PrintedPiece[]> {
    return this.database
      .tables()
      .selectFrom('automation_output')
      .select(['number', 'text', 'created_at'])
      .where('run_id', '=', id)
      .where('number', '>', after)
      .orderBy('number')
      .limit(limit)
      .execute();
  }

  /** The number of the newest piece that a script printed, 0 where there is none. */
  async newestPrinted(id: string): Promise<number> {
    const row = await this.database
      .tables()
      .selectFrom('automation_output')
      .select(({ fn }) => fn.max('number').as('number'))
      .where('run_id', '=', id)
      .executeTakeFirst();
    return row?.number ?? 0;
  }

  /** The files that the agent of a run wrote, by the log of changes. */
  async writtenPaths({ call_id }: Pick<AutomationRunRow, 'call_id'>): Promise<string[]> {
    const { rows } = await sql<{ path: string }>`
      select distinct path from workspace_change
      where run_id = ${call_id} and kind <> 'deleted'
      limit ${MAX_PATHS}`.execute(this.database.tables());
    return rows.map(({ path }) => path);
  }

  /**
   * What dead processes were about to start waits again; scripts that they ran are returned, each once. The same holds for what
   * this process has taken without knowing it, because its connection broke: for all that is not among `known`.
   */
  async recover(unit: UnitOfWork, known: readonly string[]): Promise<AutomationRunRow[]> {
    const isLost = sql`(${this.rows.isOrphaned} or (${this.rows.isOurs} and id <> all(${[...known]}::uuid[])))`;
    await sql`
      update automation_run set state = 'queued', ${this.rows.released} where state = 'starting' and ${isLost}`.execute(
      unit.tables(),
    );
    const { rows } = await sql<AutomationRunRow>`
      select * from automation_run where state = 'running' and kind = 'script' and ${isLost} for update skip locked`.execute(
      unit.tables(),
    );
    return rows;
  }

  /**
   * What this process took and has not begun waits again. The delay grows with the time that it has waited already, up to a
   * minute.
   */
  async putBack(unit: UnitOfWork, id: string, { isDelayed }: { isDelayed: boolean }): Promise<void> {
    const delay = sql`least(interval '1 minute', greatest(interval '1 second', (now() - queued_at) / 4))`;
    await sql`
      update automation_run set state = 'queued', started_at = null, ${this.rows.released},
        not_before = case when ${isDelayed}::boolean then now() + ${delay} else not_before end
      where id = ${id} and state in ('starting', 'running') and ${this.rows.isOurs}`.execute(unit.tables());
    this.topics.publishAfterCommit(unit, AUTOMATION_RUNS_QUEUED);
  }

  /** Milliseconds until a run that was put off may start; undefined where none was. */
  async untilNext(): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from min(not_before) - now())::float8 * 1000 as ms
      from automation_run where state = 'queued' and not_before > now()`.execute(this.database.tables());
    return rows[0]?.ms ?? undefined;
  }

  get signal(): AbortSignal {
    return this.leases.signal;
  }

  /** Removes what ended long ago; how many. */
  async removeOld(days: number, limit: number): Promise<number> {
    const { rows } = await sql`
      delete from automation_run where id in (
        select id from automation_run where state = 'done' and finished_at < now() - make_interval(days => ${days})
        order by finished_at limit ${limit}) returning id`.execute(this.database.tables());
    return rows.length;
  }
}

/** What all tries of a run cost; null where none of them is known to cost anything. */
const costWith = (usd: number | null | undefined) =>
  sql`coalesce(cost_usd + coalesce(${usd ?? null}::float8, 0), ${usd ?? null}::float8)`;

/** What the lock of a lane is called. */
const nameOf = ({ workspaceId, lane }: Lane): string => `automation ${workspaceId} ${lane}`;

/** Whether the run `r` has this text in what people see of it. */
const holds = (
  text: string,
) => sql<boolean>`concat_ws(E'\\n', r.file_path, r.stop_reason, r.error, r.log, r.output::text)
  ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`;

/** Runs of a paused deployment wait until it is resumed, except those that somebody asked for. */
const isNotPaused = sql`(q.is_asked or not exists (
  select from automation_deployment d where d.id = q.deployment_id and d.state = 'paused'))`;

/** Whether a further run of the lane of `q` may begin. */
const hasRoom = sql`(select count(*) from automation_run o
  where o.workspace_id = q.workspace_id and o.lane = q.lane and o.state in ('starting', 'running')) < q.lane_max`;
