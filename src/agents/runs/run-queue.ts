import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { hardStopOver } from '../../identity/billing/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { type LeasedRows, Leases } from '../../platform/leases/index.js';
import { Topics } from '../../platform/topics/index.js';
import type { MessagePart } from '../chats/index.js';
import { holdTopic, RUNS_DUE, type RunRow, runTopic, transition } from './run-state.js';
import { runsInTurn } from './run-turns.js';

/** Organizations and people whose last turns a process remembers. */
const TURNS_KNOWN = 1000;

/** What carrying a run takes of its row. */
const CARRIED = [
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
  'response_schema',
  'parent_id',
  'depth',
  'tools_above',
  'attempt',
  'lost',
  'steers',
  'step_count',
  'cost_usd',
  'waited_ms',
] as const satisfies (keyof RunRow)[];

export type CarriedRun = Pick<RunRow, (typeof CARRIED)[number]>;

/** A run that a worker has taken for a new attempt, with what that needs to know at its outset. */
export type TakenRun = CarriedRun & {
  /** Whether a hard stop stands over it. */
  hard_stop: boolean;
  /** How long ago it was first taken up, by the clock of the database; in milliseconds. */
  ran_ms: number;
  /** The content of its message, where that is the first of the chat and was accepted just now. */
  said?: MessagePart[];
};

/** The columns of {@link TakenRun}, but for what was said; `run` is the name of the run's row. */
export const takenColumns = (run: string): RawBuilder<unknown> =>
  sql`${sql.raw(CARRIED.map(column => `${run}.${column}`).join(', '))}, ${hardStopOver(sql.raw(run))} as hard_stop,
    coalesce(extract(epoch from now() - ${sql.raw(run)}.started_at) * 1000, 0)::float8 as ran_ms`;

/** Room for one run in a worker of this process, held until the run begins or does not. */
export interface Place {
  /** The process that is to be written down as the run's holder. */
  readonly holder: string;
  begin(run: TakenRun): void;
  free(): void;
}

/**
 * The runs that wait for a worker, and who has which: columns of the runs themselves, so that none can be in the queue
 * and not there, or the other way round. A run belongs to one process at a time; that of a lost one is due again.
 */
@Injectable()
export class RunQueue {
  /** Room in a worker of this process, if it has one with room. */
  private room: () => Place | undefined = () => undefined;

  /** When organizations, and people in them, last got a turn in this process, as a count of turns; of those who wait. */
  private readonly lastTurns = new Map<string, number>();
  private turns = 0;
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly leases: Leases,
  ) {
    this.rows = leases.rows('run');
  }

  /** Says where runs that are accepted here may begin. */
  serve(room: () => Place | undefined): void {
    this.room = room;
  }

  /** A place for a run that is about to be accepted, so that it begins with the same commit. */
  reserve(): Place | undefined {
    return this.leases.isFresh ? this.room() : undefined;
  }

  /** Aborted when this process may no longer take the runs that it has for its own. */
  get signal(): AbortSignal {
    return this.leases.signal;
  }

  /** Wakes the workers, for a run that was made due. */
  tellDue(): void {
    this.topics.publish(RUNS_DUE);
  }

  /** Lets a run go, which is the first of its chat that has not ended. A task goes on with the run above it. */
  async enqueue(unit: UnitOfWork, runId: string): Promise<void> {
    await sql`update run set due = parent_id is null, ${this.rows.released} where id = ${runId} and status = 'pending'`.execute(
      unit.tables(),
    );
    unit.afterCommit(() => this.tellDue());
  }

  /** Takes up to `limit` runs for new attempts: organizations take turns, in each its people, and of each the oldest is first. */
  async take(limit: number): Promise<TakenRun[]> {
    await this.leases.requireFresh();
    const runs = await this.claim(runsInTurn(this.leases.processId, limit, this.lastTurns));
    if (runs.length === 0) this.lastTurns.clear();
    for (const { organization_id, actor } of runs)
      for (const key of [organization_id, `${organization_id} ${actor.id}`]) this.noteTurn(key);
    return runs;
  }

  private noteTurn(key: string): void {
    this.lastTurns.delete(key);
    this.lastTurns.set(key, ++this.turns);
    for (const oldest of this.lastTurns.keys())
      if (this.lastTurns.size > TURNS_KNOWN) this.lastTurns.delete(oldest);
      else break;
  }

  /** Takes a run that this process has for a new attempt; undefined when it has ended, is gone, or another's by now. */
  async retake(runId: string): Promise<TakenRun | undefined> {
    await this.leases.requireFresh();
    const [run] = await this.claim(
      sql`select id from run where id = ${runId} and status = 'pending' and merged_into is null and ${this.rows.isOurs} for update`,
    );
    return run;
  }

  /** Takes a task for a new attempt, whose run above this process has; undefined when it has ended or is gone. */
  async takeTask(runId: string): Promise<TakenRun | undefined> {
    await this.leases.requireFresh();
    const [run] = await this.claim(
      sql`select id from run where id = ${runId} and status = 'pending' and state <> 'waiting' and exists (
        select 1 from run above where above.id = run.parent_id and above.status = 'pending' and above.holder = ${this.leases.processId})
        for update`,
    );
    return run;
  }

  /** Puts a run back as it stands, unless another worker has it by now; a task goes on with the run above it. */
  async handBack({ id, attempt }: Pick<RunRow, 'id' | 'attempt'>): Promise<void> {
    await sql`
      update run set ${transition('release').set}, due = parent_id is null, ${this.rows.released}
      where id = ${id} and attempt = ${attempt} and status = 'pending' and state <> 'waiting'`.execute(
      this.database.tables(),
    );
    this.tellDue();
  }

  /** Makes due what processes held that are gone. */
  async recover(): Promise<void> {
    await sql`
      update run set due = parent_id is null, ${this.rows.released} where status = 'pending' and ${this.rows.isOrphaned}`.execute(
      this.database.tables(),
    );
  }

  /** Ids of the runs that this process has, by the database; tasks are carried with the run above them. */
  async claimed(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from run where ${this.rows.isOurs} and status = 'pending' and parent_id is null`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  /** Makes due what this process holds and does not carry. */
  async letGo(runIds: readonly string[]): Promise<void> {
    await sql`
      update run set due = true, ${this.rows.released}
      where id = any(${runIds}::uuid[]) and ${this.rows.isOurs} and status = 'pending'`.execute(
      this.database.tables(),
    );
    this.tellDue();
  }

  /**
   * A new attempt, the first of which begins with its first step. Earlier attempts can write no more, and are told so.
   * One that was not handed back died, or lost the database.
   */
  private async claim(which: RawBuilder<unknown>): Promise<TakenRun[]> {
    const { rows } = await sql<TakenRun>`
      with chosen as (${which}), claimed as (
        update run set ${transition('claim').set}, due = false, ${this.rows.claimed}, attempt = attempt + 1,
          lost = lost + (state = 'running')::int, started_at = coalesce(started_at, now()),
          last_event = last_event + case attempt when 0 then 2 else 1 end
        from chosen where run.id = chosen.id returning run.*
      ), told as (
        insert into run_event (run_id, id, type, data, created_at)
        select id, last_event - (attempt = 1)::int, 'run.started',
          jsonb_build_object('call_id', id, 'attempt', attempt, 'model', model), now() from claimed
        union all
        select id, last_event, 'step.started', jsonb_build_object('step', 1), now() from claimed where attempt = 1
      )
      select ${takenColumns('claimed')} from claimed`.execute(this.database.tables());
    for (const { id, attempt } of rows) {
      this.topics.publish(runTopic(id));
      if (attempt > 1) this.topics.publish(holdTopic(id));
    }
    return rows;
  }
}
