import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { validate as isUuid } from 'uuid';
import { type Actor, namesReachable } from '../../platform/access/index.js';
import {
  Database,
  databaseTime,
  newId,
  type Row,
  storable,
  type UnitOfWork,
} from '../../platform/database/index.js';
import { type Page, type PageInput, pageById } from '../../platform/dto/index.js';
import { notifyTopic } from '../../platform/topics/index.js';
import type { ApprovalRow, ApprovalScope, ApprovalStatus } from './approval.js';
import { approvalTopic } from './approvals.events.js';

/** Which approvals. */
export interface ApprovalFilter {
  chat_id?: string;
  workspace_id?: string;
  requested_by?: string;
  workspace_ids?: readonly string[] | null;
  organization_id?: string | null;
  status?: ApprovalStatus;
  /** Who asks. */
  actor: Actor;
}

/** How an approval was resolved; `by` is null where it expired. */
export interface Resolution {
  status: Exclude<ApprovalStatus, 'pending'>;
  scope?: ApprovalScope;
  note?: string;
  by: string | null;
}

export type NewApproval = Pick<
  ApprovalRow,
  | 'organization_id'
  | 'workspace_id'
  | 'tool'
  | 'effect'
  | 'input'
  | 'requested_by'
  | 'client_name'
  | 'credential_id'
> & { seconds: number };

/** Who has to do with an approval, by name. */
export interface ApprovalNames {
  workspace: string | null;
  chat: string | null;
  agent: string | null;
  /** On whose authority the call is made. */
  requester: string | null;
  decider: string | null;
  /** Where the call is one of a service account. */
  account_organization_id: string | null;
}

/** Keeps what people are asked, and what they decided. */
@Injectable()
export class ApprovalsStore {
  constructor(private readonly database: Database) {}

  find(id: string, unit?: UnitOfWork): Promise<ApprovalRow | undefined> {
    return (unit ?? this.database)
      .tables()
      .selectFrom('approval')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  databaseTime(): Promise<Date> {
    return databaseTime(this.database);
  }

  /** Newest first. */
  list<Item>(filter: ApprovalFilter, page: PageInput, view: (row: ApprovalRow) => Item): Promise<Page<Item>> {
    const { workspace_ids, organization_id, requested_by, chat_id, workspace_id, status } = filter;
    let query = this.database.tables().selectFrom('approval').selectAll().where(namesReachable(filter.actor));
    if (chat_id) query = query.where('chat_id', '=', chat_id);
    if (workspace_id) query = query.where('workspace_id', '=', workspace_id);
    if (workspace_ids) query = query.where('workspace_id', 'in', [...workspace_ids]);
    if (organization_id) query = query.where('organization_id', '=', organization_id);
    if (requested_by) query = query.where('requested_by', '=', requested_by);
    if (status) query = query.where('status', '=', status);
    return pageById(query, page, view, { newestFirst: true });
  }

  async namesFor(row: ApprovalRow): Promise<ApprovalNames | undefined> {
    const { workspace_id, input, requested_by, decided_by, chat_id, run_id } = row;
    const name = (id: string | null) => sql`coalesce((select name from "user" where id = ${id}::uuid),
      (select name from service_account where id = ${id}::uuid))`;
    const { rows } = await sql<ApprovalNames>`
      select (select name from workspace where id = ${workspace_id ?? workspaceIn(input)}::uuid) as workspace,
        (select title from chat where id = ${chat_id}::uuid) as chat,
        (select agent_name from run where id = ${run_id}::uuid) as agent,
        ${name(requested_by)} as requester, ${name(decided_by)} as decider,
        (select organization_id from service_account where id = ${requested_by}) as account_organization_id`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  /** Those of a run, in the order of its calls. */
  ofRun(runId: string): Promise<ApprovalRow[]> {
    return this.database
      .tables()
      .selectFrom('approval')
      .selectAll()
      .where('run_id', '=', runId)
      .orderBy('step')
      .orderBy('position')
      .execute();
  }

  /**
   * The question about a call of an MCP client, which a person is to look at: the one that is open for the same call, or a
   * new one. Of two who ask at once, both get the same.
   */
  async forMcpCall(unit: UnitOfWork, approval: NewApproval): Promise<ApprovalRow> {
    const { organization_id, workspace_id, tool, effect, requested_by, client_name, credential_id, seconds } =
      approval;
    const input = storable(approval.input ?? null);
    const within = unit.tables();
    await sql`select pg_advisory_xact_lock(hashtext(${`approval ${requested_by} ${tool}`}))`.execute(within);
    const open = await sql<ApprovalRow>`
      select * from approval
      where requested_by = ${requested_by} and subject_kind = 'mcp_call' and tool = ${tool}
        and credential_id is not distinct from ${credential_id} and input is not distinct from ${input}::jsonb
        and status in ('pending', 'allowed', 'denied') and used_at is null and expires_at > now()
      order by id desc limit 1`.execute(within);
    if (open.rows[0]) return open.rows[0];
    const { rows } = await sql<ApprovalRow>`
      insert into approval (id, subject_kind, organization_id, workspace_id, tool, effect, input, requested_by, client_name,
        credential_id, status, expires_at, created_at)
      values (${newId()}, 'mcp_call', ${organization_id}, ${workspace_id}, ${tool}, ${effect}, ${input}::jsonb,
        ${requested_by}, ${client_name}, ${credential_id}, 'pending', now() + ${seconds} * interval '1 second', now())
      returning *`.execute(within);
    const [row] = rows;
    if (!row) throw new Error('An approval was inserted and is not there');
    return row;
  }

  /** Only one at a time decides about the calls of a chat, or ends its run. */
  async lockChat(unit: UnitOfWork, { chat_id }: ApprovalRow): Promise<void> {
    if (chat_id) await sql`select 1 from chat where id = ${chat_id} for no key update`.execute(unit.tables());
  }

  /** Writes down how it was resolved, once; says whether it was this time. */
  async resolve(unit: UnitOfWork, id: string, { status, scope, note, by }: Resolution): Promise<boolean> {
    const inTime = status === 'allowed' || status === 'denied' ? sql`and expires_at > now()` : sql``;
    const { rows } = await sql`
      update approval set status = ${status}, scope = ${scope ?? null}, note = ${note ?? null}, decided_by = ${by}, decided_at = now()
      where id = ${id} and status = 'pending' ${inTime}
      returning ${notifyTopic(approvalTopic(id))}`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Milliseconds until the next deadline, or the next reminder, of a question that is open; undefined where none is. */
  async untilNextDeadline(): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from min(coalesce(${REMIND_AT}, expires_at)) - now())::float8 * 1000 as ms
      from approval where status = 'pending'`.execute(this.database.tables());
    return rows[0]?.ms ?? undefined;
  }

  /** Ids of those whose time is over, the oldest first. */
  async overdue(limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from approval where status = 'pending' and expires_at <= now() order by expires_at limit ${limit}`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  /** Questions of which people are to be reminded now, each counted as such; a reminder that came too late is left out. */
  async takeReminders(unit: UnitOfWork, limit: number): Promise<{ id: string; reminder: number }[]> {
    const { rows } = await sql<{ id: string; reminder: number }>`
      update approval set reminders = case when now() >= ${remindAt(1)} then 2 else 1 end
      where id in (
        select id from approval where status = 'pending' and ${REMIND_AT} <= now() and expires_at > now()
        order by expires_at limit ${limit} for update skip locked)
      returning id, reminders as reminder`.execute(unit.tables());
    return rows;
  }

  /** Uses an allowed one up, for the same call by the same caller; says whether it could. */
  async use(id: string, call: Omit<NewApproval, 'seconds'>): Promise<boolean> {
    const { tool, input, requested_by, credential_id } = call;
    const { rows } = await sql`
      update approval set used_at = now()
      where id = ${id} and status = 'allowed' and used_at is null and tool = ${tool} and requested_by = ${requested_by}
        and credential_id is not distinct from ${credential_id}
        and input is not distinct from ${storable(input ?? null)}::jsonb
      returning id`.execute(this.database.tables());
    return rows.length > 0;
  }

  /** The denial was delivered; it is not the answer to the same question the next time. */
  async closeDenied(id: string): Promise<void> {
    await sql`update approval set used_at = now() where id = ${id} and status = 'denied' and used_at is null`.execute(
      this.database.tables(),
    );
  }

  /** Ends every question about a run's calls; returns which they were. */
  async cancelOf(unit: UnitOfWork, runId: string): Promise<ApprovalRow[]> {
    const { rows } = await sql<ApprovalRow>`
      update approval set status = 'cancelled', decided_at = now() where run_id = ${runId} and status = 'pending'
      returning *`.execute(unit.tables());
    return rows;
  }

  /** Allows what else the run waits to do with the same tool; returns what that was. */
  async allowOthers(unit: UnitOfWork, { run_id, tool, decided_by }: ApprovalRow): Promise<ApprovalRow[]> {
    const { rows } = await sql<ApprovalRow>`
      update approval set status = 'allowed', scope = 'run', decided_by = ${decided_by}, decided_at = now()
      where run_id = ${run_id} and tool = ${tool} and status = 'pending' returning *`.execute(unit.tables());
    return rows;
  }
}

/** The parts of the time for a question after which people are reminded of it. */
const REMINDERS = [0.5, 0.9] as const;

const remindAt = (index: 0 | 1): RawBuilder<Date> =>
  sql`created_at + (expires_at - created_at) * ${sql.lit(REMINDERS[index])}`;

/** When people are next reminded; null: no more, or of such a question never. */
const REMIND_AT: RawBuilder<Date | null> = sql`case reminders when 0 then ${remindAt(0)} when 1 then ${remindAt(1)} end`;

/** The run whose calls people are asked about. */
export type AskingRun = Pick<
  Row<'run'>,
  'id' | 'organization_id' | 'workspace_id' | 'chat_id' | 'created_by' | 'approval_seconds'
>;

/** A call of a run that a person is asked about. */
export interface AskedCall {
  readonly id: string;
  readonly step: number;
  readonly position: number;
  readonly call_id: string;
  /** The tool, or the action. */
  readonly tool: string;
  readonly effect: string;
  readonly input: unknown;
  readonly expires_at: Date;
}

/** Asks people about calls of a run. */
export async function askApprovals(
  unit: UnitOfWork,
  run: AskingRun,
  asked: readonly AskedCall[],
): Promise<void> {
  const { id, organization_id, workspace_id, chat_id, created_by, approval_seconds } = run;
  await sql`
    insert into approval (id, subject_kind, organization_id, workspace_id, chat_id, run_id, step, position, call_id, tool, effect,
      input, requested_by, status, expires_at, created_at, reminders)
    select a.id, 'run_tool_call', ${organization_id}::uuid, ${workspace_id}::uuid, ${chat_id}::uuid, ${id}::uuid, a.step,
      a.position, a.call_id, a.tool, a.effect, a.input, ${created_by}::uuid, 'pending', a.expires_at, now(),
      ${approval_seconds === null ? null : 0}::int
    from jsonb_to_recordset(${storable(asked)}::jsonb) as a(id uuid, step int, position int, call_id text, tool text,
      effect text, input jsonb, expires_at timestamptz)
    on conflict (run_id, step, position) where run_id is not null do nothing`.execute(unit.tables());
}

/** The workspace that a call is about, where it names one. */
function workspaceIn(input: unknown): string | null {
  const { workspace_id } = (input ?? {}) as { workspace_id?: unknown };
  return isUuid(workspace_id) ? String(workspace_id) : null;
}
