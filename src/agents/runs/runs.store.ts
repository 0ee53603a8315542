import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type Actor, Credentials, type WorkspacePermission } from '../../platform/access/index.js';
import { Database, iso, isoOrNull, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import type { ApprovalRow } from '../approvals/index.js';
import { type ChatStanding, chatsOf, requireInChat, type ToolCallRow } from '../chats/index.js';
import { PLAN_COLUMN, type PlanColumn } from '../plans/index.js';
import type { QuestionRow } from '../questions/index.js';
import type { RunRow } from './run-state.js';
import type { RunHeadView } from './runs.dto.js';

/** What is shown of the status of a run. */
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
  'context',
  'cost_usd',
  'created_at',
  'started_at',
  'finished_at',
] as const satisfies (keyof RunRow)[];

/** How a run stands, and its tool calls in order where it has ended. */
export type RunWithCalls = Pick<RunRow, (typeof SHOWN)[number]> & {
  calls: ToolCallRow[] | null;
  plan: PlanColumn;
  waiting_for: PendingApproval[] | null;
  questions: QuestionRow[] | null;
};

/** What a run, or a task of it, waits for. */
export type PendingApproval = Pick<
  ApprovalRow,
  'id' | 'run_id' | 'tool' | 'effect' | 'workspace_id' | 'requested_by' | 'expires_at'
>;

const COLUMNS = sql.raw(SHOWN.map(column => `run.${column}`).join(', '));

/** What a permission is asked about: the run, and where it is. */
export type RunSubject = Pick<RunRow, 'id' | 'chat_id' | 'organization_id' | 'workspace_id'>;

const SUBJECT_COLUMNS = sql.raw('run.id, run.chat_id, run.organization_id, run.workspace_id');

/** The tool calls of a run that has ended, as a column. */
const CALLS = sql`case when run.status <> 'pending' then (
  select coalesce(json_agg(t order by t.step, t.position), '[]') from tool_call t where t.run_id = run.id) end as calls`;

/** A run that waits, and its tasks. */
const FAMILY = sql`recursive family as (
    select run.id
    union all
    select r.id from run r join family f on r.parent_id = f.id where r.status = 'pending'
  )`;

/** The approvals that a run waits for, and its tasks, as a column; in the order in which they were asked for. */
const WAITING_FOR = sql`case when run.state = 'waiting' then (
  with ${FAMILY}
  select json_agg(json_build_object('id', a.id, 'run_id', a.run_id, 'tool', a.tool, 'effect', a.effect, 'workspace_id',
    a.workspace_id, 'requested_by', a.requested_by, 'expires_at', a.expires_at) order by a.id)
  from approval a join family f on a.run_id = f.id where a.status = 'pending') end as waiting_for`;

/** As {@link WAITING_FOR}, what they ask. */
const QUESTIONS = sql`case when run.state = 'waiting' then (
  with ${FAMILY}
  select json_agg(q order by q.id) from question q join family f on q.run_id = f.id where q.status = 'pending') end as questions`;

const STATUS_COLUMNS = sql`${COLUMNS}, ${CALLS}, ${PLAN_COLUMN}, ${WAITING_FOR}, ${QUESTIONS}`;

/** A run that has not ended, and whose message has not entered another. */
export type PendingRun = Pick<RunRow, 'id' | 'state' | 'attempt' | 'steers_run_id' | 'actor'>;

/** What is shown of every run. */
type HeadRow = Pick<
  RunRow,
  'id' | 'chat_id' | 'status' | 'state' | 'stop_reason' | 'model' | 'cost_usd' | 'created_at' | 'finished_at'
>;

export function headOf({ id: call_id, created_at, finished_at, ...run }: HeadRow): RunHeadView {
  const { chat_id, status, state, stop_reason, model, cost_usd } = run;
  const times = { created_at: iso(created_at), finished_at: isoOrNull(finished_at) };
  return { call_id, chat_id, status, state, stop_reason, model, cost_usd, ...times };
}

/** A step, and the id of the model that gave its answer. */
export type StepRow = Row<'run_step'> & { model: string | null };

interface RunFilter extends PageInput {
  chat_id?: string;
  workspace_id?: string;
  parent_call_id?: string;
  status?: string;
}

/** How who started a run stands to its chat by now. */
interface RunStanding extends ChatStanding {
  /** Whether the credential with which they started it has not been revoked. */
  readonly stands: boolean;
}

/** Reads runs. */
@Injectable()
export class RunsStore {
  constructor(
    private readonly database: Database,
    private readonly credentials: Credentials,
  ) {}

  /** Asked before each tool call, so it is one query. A session is renewed and a key replaced; what they started outlives them. */
  async standing(actor: Actor, chatId: string): Promise<RunStanding> {
    const { credential } = actor;
    const stands =
      credential.type === 'session'
        ? sql`true`
        : this.credentials.standing(credential, { evenExpired: true });
    const { rows } = await sql<RunStanding>`
      select ${stands} as stands, c.role, coalesce(c.features_off, '{}') as features_off
      from (values (${chatId}::uuid)) as asked (id) left join ${chatsOf(actor)} c using (id)`.execute(
      this.tables(),
    );
    return rows[0] ?? { stands: false, role: null, features_off: [] };
  }

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
   * key is too low. Asked about every run that a caller waits for, so it is one query.
   */
  require(actor: Actor, permission: WorkspacePermission, id: string): Promise<RunWithCalls> {
    return this.required<RunWithCalls>(actor, permission, id, STATUS_COLUMNS);
  }

  /** As {@link require}, where its answer and its calls, which may be large, are not wanted. */
  requireSubject(actor: Actor, permission: WorkspacePermission, id: string): Promise<RunSubject> {
    return this.required<RunSubject>(actor, permission, id, SUBJECT_COLUMNS);
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

  /** Newest first. Those of a workspace are of chats that everybody there sees. */
  list({ chat_id, workspace_id, parent_call_id, status, ...page }: RunFilter): Promise<Page<RunRow>> {
    let query = this.tables().selectFrom('run').selectAll();
    if (chat_id) query = query.where('chat_id', '=', chat_id);
    if (workspace_id) query = query.where('workspace_id', '=', workspace_id);
    if (parent_call_id) query = query.where('parent_id', '=', parent_call_id);
    if (status) query = query.where('status', '=', status as RunRow['status']);
    return selectPage(query, page, { by: 'number', kind: 'number', newestFirst: true });
  }

  /** The steps of a run, each with the id of the model that gave its answer. */
  async steps(id: string): Promise<StepRow[]> {
    const { rows } = await sql<StepRow>`
      select s.*, m.model from run_step s left join message m on m.run_id = s.run_id and m.step = s.number and m.role = 'assistant'
      where s.run_id = ${id} order by s.number`.execute(this.tables());
    return rows;
  }

  private tables() {
    return this.database.tables();
  }
}
