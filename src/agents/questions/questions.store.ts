import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, namesReachable } from '../../platform/access/index.js';
import { Database, type Row, storable, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, pageById } from '../../platform/dto/index.js';
import type { AskedQuestion } from '../tools/index.js';
import type { Answer, QuestionRow, QuestionStatus } from './question.js';

/** Which questions. */
export interface QuestionFilter {
  chat_id?: string;
  workspace_id?: string;
  asked_of?: string;
  workspace_ids?: readonly string[] | null;
  organization_id?: string | null;
  status?: QuestionStatus;
  /** Who asks for them. */
  actor: Actor;
}

/** A question that a call of a run asks. */
export interface NewQuestion extends AskedQuestion {
  readonly id: string;
  readonly step: number;
  readonly position: number;
  readonly call_id: string;
  readonly expires_at: Date;
}

/** Keeps what people are asked by agents, and what they answer. */
@Injectable()
export class QuestionsStore {
  constructor(private readonly database: Database) {}

  find(id: string, unit?: UnitOfWork): Promise<QuestionRow | undefined> {
    return (unit ?? this.database)
      .tables()
      .selectFrom('question')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** On whose authority the run acts that asks. */
  async starterOf({ run_id }: QuestionRow): Promise<Actor | undefined> {
    const query = this.database.tables().selectFrom('run').select('actor').where('id', '=', run_id);
    return (await query.executeTakeFirst())?.actor as Actor | undefined;
  }

  /** Newest first. */
  list<Item>(filter: QuestionFilter, page: PageInput, view: (row: QuestionRow) => Item): Promise<Page<Item>> {
    const { workspace_ids, organization_id, asked_of, chat_id, workspace_id, status } = filter;
    let query = this.database.tables().selectFrom('question').selectAll().where(namesReachable(filter.actor));
    if (chat_id) query = query.where('chat_id', '=', chat_id);
    if (workspace_id) query = query.where('workspace_id', '=', workspace_id);
    if (workspace_ids) query = query.where('workspace_id', 'in', [...workspace_ids]);
    if (organization_id) query = query.where('organization_id', '=', organization_id);
    if (asked_of) query = query.where('asked_of', '=', asked_of);
    if (status) query = query.where('status', '=', status);
    return pageById(query, page, view, { newestFirst: true });
  }

  /** Those of a run, in the order of its calls. */
  ofRun(runId: string): Promise<QuestionRow[]> {
    return this.database
      .tables()
      .selectFrom('question')
      .selectAll()
      .where('run_id', '=', runId)
      .orderBy('step')
      .orderBy('position')
      .execute();
  }

  /** Only one at a time answers what is asked in a chat, or ends its run. */
  async lockChat(unit: UnitOfWork, { chat_id }: QuestionRow): Promise<void> {
    await sql`select 1 from chat where id = ${chat_id} for no key update`.execute(unit.tables());
  }

  /** Writes down the answer, once and in time; says whether it was this time. */
  async answer(unit: UnitOfWork, id: string, answer: Answer, by: string): Promise<boolean> {
    const { rows } = await sql`
      update question set status = 'answered', answer = ${storable(answer)}::jsonb, answered_by = ${by}, answered_at = now()
      where id = ${id} and status = 'pending' and expires_at > now() returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Says whether its time was over, and it was not closed before. */
  async expire(unit: UnitOfWork, id: string): Promise<boolean> {
    const { rows } = await sql`
      update question set status = 'expired' where id = ${id} and status = 'pending' and expires_at <= now()
      returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Withdraws what a run asks; returns what that was. */
  async cancelOf(unit: UnitOfWork, runId: string): Promise<QuestionRow[]> {
    const { rows } = await sql<QuestionRow>`
      update question set status = 'cancelled' where run_id = ${runId} and status = 'pending' returning *`.execute(
      unit.tables(),
    );
    return rows;
  }

  /** Milliseconds until the next deadline, or the reminder, of a question that is open; undefined where none is. */
  async untilNextDeadline(): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from min(case when reminded_at is null then ${REMIND_AT} else expires_at end) - now())::float8 * 1000 as ms
      from question where status = 'pending'`.execute(this.database.tables());
    return rows[0]?.ms ?? undefined;
  }

  /** Those of which people are to be reminded now, each counted as such. */
  async takeReminders(unit: UnitOfWork, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      update question set reminded_at = now()
      where id in (
        select id from question where status = 'pending' and reminded_at is null and ${REMIND_AT} <= now() and expires_at > now()
        order by expires_at limit ${limit} for update skip locked)
      returning id`.execute(unit.tables());
    return rows.map(({ id }) => id);
  }

  /** Ids of those whose time is over, the oldest first. */
  async overdue(limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from question where status = 'pending' and expires_at <= now() order by expires_at limit ${limit}`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }
}

/** When the person is reminded: after half of the time that there is for an answer. */
const REMIND_AT = sql<Date>`created_at + (expires_at - created_at) * 0.5`;

/** Asks people what calls of a run ask. */
export async function askQuestions(
  unit: UnitOfWork,
  run: Pick<Row<'run'>, 'id' | 'organization_id' | 'workspace_id' | 'chat_id' | 'created_by'>,
  asked: readonly NewQuestion[],
): Promise<void> {
  const { id, organization_id, workspace_id, chat_id, created_by } = run;
  await sql`
    insert into question (id, organization_id, workspace_id, chat_id, run_id, step, position, call_id, question, choices,
      multiple, allow_text, asked_of, status, expires_at, created_at)
    select q.id, ${organization_id}::uuid, ${workspace_id}::uuid, ${chat_id}::uuid, ${id}::uuid, q.step, q.position,
      q.call_id, q.question, q.choices, q.multiple, q.allow_text, ${created_by}::uuid, 'pending', q.expires_at, now()
    from jsonb_to_recordset(${storable(asked)}::jsonb) as q(id uuid, step int, position int, call_id text,
      question text, choices jsonb, multiple boolean, allow_text boolean, expires_at timestamptz)
    on conflict (run_id, step, position) do nothing`.execute(unit.tables());
}
