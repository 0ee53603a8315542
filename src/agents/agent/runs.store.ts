import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ExecTokens } from '../../platform/actions/exec-tokens.js';
import { Database, newId, type UnitOfWork } from '../../platform/database/database.js';
import type { Row } from '../../platform/database/rows.js';
import { JobQueue } from '../../platform/queue/job-queue.js';
import type { Run } from './run.entity.js';
import type { RunEvent } from './run-event.entity.js';
import { holdTopic, type RunEnd, type RunJournal, runTopic } from './run-journal.js';
import { carryRun } from './runs.jobs.js';
import type { ToolCall } from './tool-call.entity.js';

type RunTables = { run: Run; run_event: RunEvent; tool_call: ToolCall };

/** Questions about runs, and their way through the queue. */
@Injectable()
export class RunsStore {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(JobQueue) private readonly jobs: JobQueue,
    @Inject(ExecTokens) private readonly tokens: ExecTokens,
  ) {}

  find(id: string, unit?: UnitOfWork): Promise<Row<Run> | undefined> {
    return (unit?.tables<RunTables>() ?? this.tables())
      .selectFrom('run')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** All tool calls of a run, in order. */
  toolCalls(runId: string): Promise<Row<ToolCall>[]> {
    return this.tables()
      .selectFrom('tool_call')
      .selectAll()
      .where('run_id', '=', runId)
      .orderBy('step')
      .orderBy('position')
      .execute();
  }

  /** Events of a run after event number `after`, in order. */
  events(runId: string, after: number, limit: number): Promise<Row<RunEvent>[]> {
    return this.tables()
      .selectFrom('run_event')
      .selectAll()
      .where('run_id', '=', runId)
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /** Holds the chat until the transaction ends: only one at a time adds a run to it or ends one. */
  async lockChat(unit: UnitOfWork, chatId: string): Promise<void> {
    await sql`select 1 from chat where id = ${chatId} for update`.execute(unit.tables());
  }

  /** Puts a run on the queue. */
  enqueue(unit: UnitOfWork, runId: string): Promise<void> {
    return this.jobs.enqueue(unit, carryRun, newId(), { run_id: runId });
  }

  /** The run of the chat that is in flight, or that is next: the only one of its runs that is on the queue. */
  async headOf(unit: UnitOfWork, chatId: string): Promise<string | undefined> {
    const head = await unit
      .tables<RunTables>()
      .selectFrom('run')
      .select('id')
      .where('chat_id', '=', chatId)
      .where('status', '=', 'pending')
      .where('merged_into', 'is', null)
      .orderBy('number')
      .limit(1)
      .executeTakeFirst();
    return head?.id;
  }

  /** Lets the chat's next waiting run go, if there is one; only when the one before it has ended. */
  async enqueueNext(unit: UnitOfWork, chatId: string): Promise<void> {
    const next = await this.headOf(unit, chatId);
    if (next) await this.enqueue(unit, next);
  }

  /** What a run was given to act with is void once it has ended. */
  async revokeTokens(unit: UnitOfWork, runId: string): Promise<void> {
    await this.tokens.revokeFor(unit, { kind: 'run', id: runId });
  }

  /** Writes the end of a run and lets the chat's next waiting run go. */
  async end(chatId: string, journal: RunJournal, end: RunEnd): Promise<void> {
    await this.database.transaction(async unit => {
      await this.lockChat(unit, chatId);
      await this.endIn(unit, journal, end);
    });
  }

  /** As {@link end}, in a transaction that holds the chat. */
  async endIn(unit: UnitOfWork, journal: RunJournal, end: RunEnd): Promise<void> {
    await journal.end(unit.tables(), end);
    await this.revokeTokens(unit, journal.run.id);
    await this.enqueueNext(unit, journal.run.chatId);
  }

  /**
   * Takes a run up for a new attempt, the first of which begins with its first step; undefined when it has ended or is gone. Earlier attempts can write no more, and are
   * told so. One that was not handed back died, or lost the database.
   */
  async claim(id: string): Promise<Row<Run> | undefined> {
    const { rows } = await sql<Row<Run>>`
      with claimed as (
        update run set state = 'running', attempt = attempt + 1, lost = lost + (state = 'running')::int,
          started_at = coalesce(started_at, now()), last_event = last_event + case attempt when 0 then 2 else 1 end
        where id = ${id} and status = 'pending' and state <> 'waiting' and merged_into is null returning *
      ), told as (
        insert into run_event (run_id, id, type, data, created_at)
        select id, last_event - (attempt = 1)::int, 'run.started',
          jsonb_build_object('call_id', id, 'attempt', attempt, 'model', model), now() from claimed
        union all
        select id, last_event, 'step.started', jsonb_build_object('step', 1), now() from claimed where attempt = 1
      )
      select claimed.*, pg_notify('atelier', ${runTopic(id)}), pg_notify('atelier', ${holdTopic(id)}) from claimed`.execute(
      this.tables(),
    );
    return rows[0];
  }

  /** Puts a run back on the queue as it stands, unless another worker has it by now. */
  async handBack({ id, attempt }: Row<Run>): Promise<void> {
    await this.database.transaction(async unit => {
      const { numUpdatedRows } = await unit
        .tables<RunTables>()
        .updateTable('run')
        .set({ state: 'queued' })
        .where('id', '=', id)
        .where('attempt', '=', attempt)
        .where('status', '=', 'pending')
        .executeTakeFirst();
      if (numUpdatedRows > 0n) await this.enqueue(unit, id);
    });
  }

  private tables() {
    return this.database.tables<RunTables>();
  }
}
