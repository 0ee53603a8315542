import { InjectQueue } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { Database, dryRun, type UnitOfWork } from '../../platform/database/index.js';
import { type LeasedRows, Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { Metrics } from '../../platform/metrics/index.js';
import { Topics } from '../../platform/topics/index.js';
import type { MessagePart } from '../chats/index.js';
import { transition } from './run-rows.store.js';
import { claimTopic, RUN_STATES, type RunRow, type RunState, runTopic, stepStarted } from './run-state.js';
import { runsInTurn } from './run-turns.store.js';

/** The queue by which workers learn of runs that wait for one. */
export const RUNS = 'runs';

/** Organizations and people whose last turns a process remembers. */
const TURNS_KNOWN = 1000;

/** What executing a run takes of its row. */
const EXECUTED = [
  'id',
  'chat_id',
  'number',
  'organization_id',
  'workspace_id',
  'actor',
  'agent_name',
  'model',
  'fallback_models',
  'budget',
  'on_approval',
  'approval_seconds',
  'response_schema',
  'parent_id',
  'depth',
  'tools_above',
  'pinned',
  'loop_id',
  'attempt',
  'lost',
  'steers',
  'step_count',
  'usage',
  'cost_usd',
  'waited_ms',
] as const satisfies (keyof RunRow)[];

export type ExecutedRun = Pick<RunRow, (typeof EXECUTED)[number]>;

/** A run that a worker has claimed for a new attempt, with what that needs to know at its outset. */
export type ClaimedRun = ExecutedRun & {
  /** How long ago it was first claimed, by the clock of the database; in milliseconds. */
  ran_ms: number;
  /** The content of its message, where nothing else was said in the chat so far. */
  said?: MessagePart[] | null;
};

/** The columns of {@link ClaimedRun}, but for what was said; `run` is the name of the run's row. */
export const claimedColumns = (run: string): RawBuilder<unknown> =>
  sql`${sql.raw(EXECUTED.map(column => `${run}.${column}`).join(', '))},
    coalesce(extract(epoch from now() - ${sql.raw(run)}.started_at) * 1000, 0)::float8 as ran_ms`;

/** Capacity for one run in a worker of this process, reserved until the run begins or does not. */
export interface WorkerSlot {
  /** The process that is to be written down as the run's owner. */
  readonly processId: string;
  begin(run: ClaimedRun): void;
  release(): void;
}

/**
 * The runs that wait for a worker, and which process has which: columns of the runs themselves, so that none can be in the
 * queue and not there, or the other way round. A run belongs to one process at a time; that of a dead one is runnable again.
 */
@Injectable()
export class RunQueue {
  /** A slot of this process's worker, if one is free. */
  private slot: () => WorkerSlot | undefined = () => undefined;

  /** When organizations, and people in them, last got a turn in this process, as a count of turns; of those who wait. */
  private readonly lastTurns = new LRUCache<string, number>({ max: TURNS_KNOWN });
  private turns = 0;
  private readonly rows: LeasedRows;

  constructor(
    @InjectQueue(RUNS) private readonly waiting: Queue,
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly leases: Leases,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    this.rows = leases.rows('run');
    metrics.slowGauge(
      {
        name: 'atelier_runs',
        help: 'Runs that have not ended, of all processes together, by state.',
        labels: ['state'],
      },
      () => this.counts(),
    );
  }

  private async counts() {
    const { rows } = await sql<{ state: RunState; count: string }>`
      select state, count(*) as count from run where status = 'pending' group by state`.execute(
      this.database.tables(),
    );
    const counts = new Map(rows.map(({ state, count }) => [state, Number(count)]));
    return RUN_STATES.filter(state => state !== 'done').map(state => {
      return { labels: { state }, value: counts.get(state) ?? 0 };
    });
  }

  /** Says where runs that are accepted here may begin. */
  serve(slot: () => WorkerSlot | undefined): void {
    this.slot = slot;
  }

  /** A slot for a run that is about to be accepted, so that it begins with the same commit. */
  reserve(): WorkerSlot | undefined {
    return this.leases.isFresh ? this.slot() : undefined;
  }

  /** Aborted when this process must no longer work on the runs that it has claimed. */
  get signal(): AbortSignal {
    return this.leases.signal;
  }

  /**
   * Has a worker that has room look for runs, once these were made runnable. The rows are the truth: what is lost on the way, every
   * worker finds in its next round.
   */
  handOver(...runIds: readonly string[]): void {
    if (dryRun()) return;
    const jobs = runIds.map(jobId => ({
      name: 'run',
      data: {},
      opts: { jobId, removeOnComplete: true, removeOnFail: true },
    }));
    this.waiting
      .addBulk(jobs)
      .catch((error: unknown) =>
        this.log.warn({ err: error }, 'runs: not handed over; workers look for them'),
      );
  }

  /** Makes a run runnable, which is the first of its chat that has not ended. A task goes on with the run above it. */
  async enqueue(unit: UnitOfWork, runId: string): Promise<void> {
    await sql`update run set due = parent_id is null, ${this.rows.released} where id = ${runId} and status = 'pending'`.execute(
      unit.tables(),
    );
    unit.afterCommit(() => this.handOver(runId));
  }

  /** Makes the chat's next waiting run runnable, if there is one; only when the one before it has ended. */
  async enqueueNext(unit: UnitOfWork, chatId: string): Promise<void> {
    const { rows } = await sql<{ id: string }>`
      update run set due = parent_id is null, ${this.rows.released} where id = (
        select id from run where chat_id = ${chatId} and status = 'pending' and merged_into is null order by number limit 1)
        and status = 'pending' returning id`.execute(unit.tables());
    const [next] = rows;
    if (next) unit.afterCommit(() => this.handOver(next.id));
  }

  /** Claims up to `limit` runs: organizations take turns, in each its people, and of each the oldest is first. */
  async claim(limit: number): Promise<ClaimedRun[]> {
    await this.leases.requireFresh();
    const runs = await this.begin(runsInTurn(this.leases.processId, limit, this.lastTurns));
    if (runs.length === 0) this.lastTurns.clear();
    for (const { organization_id, actor } of runs)
      for (const key of [organization_id, `${organization_id} ${actor.id}`])
        this.lastTurns.set(key, ++this.turns);
    return runs;
  }

  /** Claims a run of this process again; undefined when it has ended, is gone, or another process has it by now. */
  async reclaim(runId: string): Promise<ClaimedRun | undefined> {
    await this.leases.requireFresh();
    const [run] = await this.begin(
      sql`select id from run where id = ${runId} and status = 'pending' and merged_into is null and ${this.rows.isOurs} for update`,
    );
    return run;
  }

  /** Claims a task whose run above this process has; undefined when it has ended or is gone. */
  async claimTask(runId: string): Promise<ClaimedRun | undefined> {
    await this.leases.requireFresh();
    const [run] = await this.begin(
      sql`select id from run where id = ${runId} and status = 'pending' and state <> 'waiting' and exists (
        select 1 from run above where above.id = run.parent_id and above.status = 'pending' and above.holder = ${this.leases.processId})
        for update`,
    );
    return run;
  }

  /** Releases a run as it stands, unless another worker has it by now; a task goes on with the run above it. */
  async release({ id, attempt }: Pick<RunRow, 'id' | 'attempt'>): Promise<void> {
    await sql`
      update run set ${transition('release').set}, due = parent_id is null, ${this.rows.released}
      where id = ${id} and attempt = ${attempt} and status = 'pending' and state <> 'waiting'`.execute(
      this.database.tables(),
    );
    this.handOver(id);
  }

  /** Makes runnable what dead processes had claimed. */
  async recover(): Promise<void> {
    await sql`
      update run set due = parent_id is null, ${this.rows.released} where id in (
        select id from run where status = 'pending' and ${this.rows.isOrphaned} for update skip locked)`.execute(
      this.database.tables(),
    );
  }

  /** Ids of the runs that this process has claimed, by the database; tasks go with the run above them. */
  async claimed(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from run where ${this.rows.isOurs} and status = 'pending' and parent_id is null`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  /** Makes runnable what this process has claimed and does not execute. */
  async releaseOwn(runIds: readonly string[]): Promise<void> {
    await sql`
      update run set due = true, ${this.rows.released}
      where id = any(${runIds}::uuid[]) and ${this.rows.isOurs} and status = 'pending'`.execute(
      this.database.tables(),
    );
    this.handOver(...runIds);
  }

  /**
   * A new attempt, the first of which begins with its first step. Earlier attempts can write no more, and are notified.
   * One that was not released crashed, or lost the database.
   */
  private async begin(which: RawBuilder<unknown>): Promise<ClaimedRun[]> {
    const { rows } = await sql<ClaimedRun>`
      with chosen as (${which}), claimed as (
        update run set ${transition('claim').set}, due = false, ${this.rows.claimed}, attempt = attempt + 1,
          lost = lost + (state = 'running')::int, started_at = coalesce(started_at, now()),
          last_event = last_event + case attempt when 0 then 2 else 1 end
        from chosen where run.id = chosen.id returning run.*
      ), told as (
        insert into run_event (run_id, id, events, created_at)
        select id, last_event, jsonb_build_array(jsonb_build_object('type', 'run.started',
            'data', jsonb_build_object('call_id', id, 'attempt', attempt, 'model', model)))
          || case attempt when 1 then ${JSON.stringify([stepStarted(1)])}::jsonb else '[]' end, now() from claimed
      )
      select ${claimedColumns('claimed')}, (
        select content from message m where m.run_id = claimed.id and claimed.attempt = 1 and not exists (
          select from message other where other.chat_id = claimed.chat_id and other.id <> m.id)) as said
      from claimed`.execute(this.database.tables());
    for (const { id, attempt } of rows) {
      this.topics.publish(runTopic(id));
      if (attempt > 1) this.topics.publish(claimTopic(id));
    }
    return rows;
  }
}
