import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Actor, WorkspacePermission } from '../../platform/access/index.js';
import { ExecTokens } from '../../platform/actions/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { defineEvent, Events } from '../../platform/events/index.js';
import { type ApprovalRow, approvalOpened } from '../approvals/index.js';
import { type ChatStanding, chatsOf, requireInChat, type ToolCallRow } from '../chats/index.js';
import type { AskedCall } from './run-event.js';
import type { NewEvent, RunEnd, RunJournal } from './run-journal.js';
import { RunQueue } from './run-queue.js';
import type { RunRow } from './run-state.js';

/** What is shown of how a run stands. */
const SHOWN = [
  'id',
  'chat_id',
  'organization_id',
  'workspace_id',
  'status',
  'state',
  'stop_reason',
  'error',
  'response',
  'response_json',
  'merged_into',
  'merged_step',
  'model',
  'usage',
  'cost_usd',
  'created_at',
  'started_at',
  'finished_at',
] as const satisfies (keyof RunRow)[];

/** How a run stands, and its tool calls in order where it has ended. */
export type RunWithCalls = Pick<RunRow, (typeof SHOWN)[number]> & {
  calls: ToolCallRow[] | null;
  waiting_for: PendingApproval[] | null;
};

/** What a run, or a task of it, waits for. */
export type PendingApproval = Pick<
  ApprovalRow,
  'id' | 'run_id' | 'tool' | 'effect' | 'workspace_id' | 'requested_by' | 'expires_at'
>;

const COLUMNS = sql.raw(SHOWN.map(column => `run.${column}`).join(', '));

/** Where a run is. */
export type RunPlace = Pick<RunRow, 'id' | 'chat_id' | 'organization_id' | 'workspace_id'>;

const PLACE_COLUMNS = sql.raw('run.id, run.chat_id, run.organization_id, run.workspace_id');

/** The tool calls of a run that has ended, as a column. */
const CALLS = sql`case when run.status <> 'pending' then (
  select coalesce(json_agg(t order by t.step, t.position), '[]') from tool_call t where t.run_id = run.id) end as calls`;

/** The approvals that a run waits for, and its tasks, as a column; in the order in which they were asked for. */
const WAITING_FOR = sql`case when run.state = 'waiting' then (
  with recursive family as (
    select run.id
    union all
    select r.id from run r join family f on r.parent_id = f.id where r.status = 'pending'
  )
  select json_agg(json_build_object('id', a.id, 'run_id', a.run_id, 'tool', a.tool, 'effect', a.effect, 'workspace_id',
    a.workspace_id, 'requested_by', a.requested_by, 'expires_at', a.expires_at) order by a.id)
  from approval a join family f on a.run_id = f.id where a.status = 'pending') end as waiting_for`;

const STATUS_COLUMNS = sql`${COLUMNS}, ${CALLS}, ${WAITING_FOR}`;

/** A run that has not ended, and whose message has not entered another. */
export type PendingRun = Pick<RunRow, 'id' | 'state' | 'attempt' | 'steers_run_id' | 'actor'>;

/** A run has ended in error, other than by who stopped it. */
export const runFailed = defineEvent<{ run_id: string }>('run.failed');

/** A run that took long has completed while nobody watched. */
export const runFinished = defineEvent<{ run_id: string }>('run.finished');

type WithUnit = (unit: UnitOfWork) => Promise<void>;

/** Questions about runs, and their way through the queue. */
@Injectable()
export class RunsStore {
  constructor(
    private readonly database: Database,
    private readonly queue: RunQueue,
    private readonly tokens: ExecTokens,
    private readonly events: Events,
  ) {}

  find(id: string, unit?: UnitOfWork): Promise<RunRow | undefined> {
    return (unit?.tables() ?? this.tables())
      .selectFrom('run')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** How a run stands, with its tool calls where it has completed. */
  async findWithCalls(id: string): Promise<RunWithCalls | undefined> {
    const { rows } = await sql<RunWithCalls>`select ${STATUS_COLUMNS} from run where id = ${id}`.execute(
      this.tables(),
    );
    return rows[0];
  }

  /**
   * As {@link findWithCalls}, if the caller may: 404 where they do not see its chat, 403 where their role there or their
   * key is too low. Asked about every run that somebody waits for, so it is one query.
   */
  require(actor: Actor, permission: WorkspacePermission, id: string): Promise<RunWithCalls> {
    return this.required<RunWithCalls>(actor, permission, id, STATUS_COLUMNS);
  }

  /** As {@link require}, where its answer and its calls, which may be large, are not wanted. */
  requirePlace(actor: Actor, permission: WorkspacePermission, id: string): Promise<RunPlace> {
    return this.required<RunPlace>(actor, permission, id, PLACE_COLUMNS);
  }

  /** Whether a run is there and has not ended. */
  async isPending(id: string): Promise<boolean> {
    const row = await this.tables()
      .selectFrom('run')
      .select('status')
      .where('id', '=', id)
      .executeTakeFirst();
    return row?.status === 'pending';
  }

  private async required<Found extends object>(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
    columns: RawBuilder<unknown>,
  ): Promise<Found> {
    const { rows } = await sql<Found & { access: ChatStanding }>`
      select ${columns}, jsonb_build_object('role', c.role, 'features_off', c.features_off) as access
      from run join ${chatsOf(actor)} c on c.id = run.chat_id where run.id = ${id}`.execute(this.tables());
    const [row] = rows;
    if (!row) throw new NotFound('No such run');
    const { access, ...run } = row;
    requireInChat(actor, permission, access, 'No such run');
    return run as unknown as Found;
  }

  /** All tool calls of a run, in order. */
  toolCalls(runId: string): Promise<ToolCallRow[]> {
    return this.tables()
      .selectFrom('tool_call')
      .selectAll()
      .where('run_id', '=', runId)
      .orderBy('step')
      .orderBy('position')
      .execute();
  }

  /** What the run's model said in words when it last did. */
  async lastSaid(runId: string): Promise<string> {
    const { rows } = await sql<{ text: string }>`
      select said.text from message m, lateral (
        select string_agg(part ->> 'text', '') as text from jsonb_array_elements(m.content) part
        where part ->> 'type' = 'text') said
      where m.run_id = ${runId} and m.role = 'assistant' and said.text <> '' order by m.number desc limit 1`.execute(
      this.tables(),
    );
    return rows[0]?.text ?? '';
  }

  /** How many answers of a run that is in flight were not accepted: those with which it asked for no tools. */
  async answersRefused(runId: string): Promise<number> {
    const { rows } = await sql<{ count: string }>`
      select count(*) from message m where m.run_id = ${runId} and m.role = 'assistant' and m.step is not null
        and not exists (select 1 from tool_call c where c.run_id = m.run_id and c.step = m.step)`.execute(
      this.tables(),
    );
    return Number(rows[0]?.count ?? 0);
  }

  /**
   * Holds the chat until the transaction ends: only one at a time adds a run to it or ends one. Its workspace before it, as
   * do those who delete that: else each could wait for the other.
   */
  async lockChat(unit: UnitOfWork, chatId: string): Promise<void> {
    await sql`
      with place as (
        select w.id from chat c join workspace w on w.id = c.workspace_id where c.id = ${chatId} for key share of w
      )
      select 1 from chat where id = ${chatId} and (select count(*) from place) >= 0 for no key update`.execute(
      unit.tables(),
    );
  }

  /** Lets a run go, which is the first of its chat that has not ended. */
  enqueue(unit: UnitOfWork, runId: string): Promise<void> {
    return this.queue.enqueue(unit, runId);
  }

  /** The runs of a chat that are in flight or wait, the one in flight (or next) first. */
  async pending(chatId: string, on: Pick<UnitOfWork, 'tables'> = this.database): Promise<PendingRun[]> {
    return on
      .tables()
      .selectFrom('run')
      .select(['id', 'state', 'attempt', 'steers_run_id', 'actor'])
      .where('chat_id', '=', chatId)
      .where('status', '=', 'pending')
      .where('merged_into', 'is', null)
      .orderBy('number')
      .execute();
  }

  /** The runs of a workspace that are in flight or wait, by chat; tasks end with the runs above them. */
  async pendingIn(workspaceId: string): Promise<{ chat_id: string; ids: string[] }[]> {
    const { rows } = await sql<{ chat_id: string; ids: string[] }>`
      select chat_id, json_agg(id order by number) as ids from run
      where workspace_id = ${workspaceId} and status = 'pending' and parent_id is null and merged_into is null
      group by chat_id`.execute(this.tables());
    return rows;
  }

  /** The run of the chat that is in flight, or that is next: the only one of its runs that a worker has or may take. */
  async headOf(unit: UnitOfWork, chatId: string): Promise<string | undefined> {
    const head = await unit
      .tables()
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

  /** Writes the end of a run and what comes `after` it, and lets the chat's next waiting run go. */
  async end(chatId: string, journal: RunJournal, end: RunEnd, after?: WithUnit): Promise<void> {
    await this.database.transaction(async unit => {
      await this.lockChat(unit, chatId);
      await this.endIn(unit, journal, end);
      await after?.(unit);
    });
  }

  /** As {@link end}, in a transaction that holds the chat. */
  async endIn(unit: UnitOfWork, journal: RunJournal, end: RunEnd): Promise<void> {
    await journal.end(unit, end);
    if (end.status === 'error') await this.events.publish(unit, runFailed, { run_id: journal.run.id });
    await this.revokeTokens(unit, journal.run.id);
    await this.enqueueNext(unit, journal.run.chatId);
  }

  /** A run that took long has ended, and its answer may wait for somebody who is away. */
  async publishFinished(unit: UnitOfWork, runId: string): Promise<void> {
    await this.events.publish(unit, runFinished, { run_id: runId });
  }

  /** People are asked about calls of a run, which waits for them. */
  async wait(journal: RunJournal, asked: AskedCall[], events: NewEvent[]): Promise<void> {
    await this.database.transaction(async unit => {
      await journal.wait(asked, events, unit);
      for (const { approvalId: approval_id } of asked)
        await this.events.publish(unit, approvalOpened, { approval_id });
    });
  }

  private tables() {
    return this.database.tables();
  }
}
