import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { GatheredWork } from '#libs/gathered-work/index.js';
import { Database, type Row, storable, type UnitOfWork } from '../../../platform/database/index.js';
import { defineTopic } from '../../../platform/topics/index.js';
import { StoredElsewhere } from '../../../workspaces/changes/index.js';
import type { Answers } from '../file/answers.js';

/** Something was handed in, or is to be written once more. */
export const submissionsTopic = defineTopic('form_submissions');

/** A file that was handed in. */
export interface HandedFile {
  readonly field: string;
  /** Its plain name. */
  readonly name: string;
  readonly size: number;
  /** The number of its copy outside of the workspace. */
  readonly number: number;
}

declare global {
  interface ColumnTypes {
    'form_submission.data': Answers;
    'form_submission.files': HandedFile[];
  }
}

export type SubmissionRow = Row<'form_submission'>;
export type SubmissionState = SubmissionRow['state'];

export interface NewSubmission {
  readonly id: string;
  readonly form_id: string;
  readonly submission_key: string;
  readonly data: Answers;
  readonly files: readonly HandedFile[];
  readonly state: 'received' | 'spam';
  readonly reason: string | null;
  readonly address_hash: string;
}

export interface Pressure {
  readonly responses: number;
  readonly seconds: number;
}

type Queries = Pick<Database, 'tables'>;

/** Answers have a bound of their own, far below what a statement may have. */
const MAX_TOGETHER = 20;

@Injectable()
export class SubmissionsStore {
  private readonly gathered = new GatheredWork<NewSubmission, boolean>(
    (_form, submissions) => this.addAll(submissions),
    { maxItems: MAX_TOGETHER },
  );

  constructor(
    private readonly database: Database,
    elsewhere: StoredElsewhere,
  ) {
    elsewhere.add(workspaceId => this.bytesIn(workspaceId));
  }

  /**
   * Durable when it returns. False where the same was handed in before. What is handed in to a form while others are added is
   * added with the next ones, by one statement.
   */
  add(submission: NewSubmission): Promise<boolean> {
    return this.gathered.do(submission.form_id, submission);
  }

  /** Of each, whether it is new; none where one of them cannot be added. */
  async addAll(submissions: readonly NewSubmission[], within: Queries = this.database): Promise<boolean[]> {
    const values = submissions.map(
      ({ id, form_id, submission_key, data, files, state, reason, address_hash }) =>
        sql`(${id}::uuid, ${form_id}::uuid, ${submission_key}::text, ${storable(data)}::jsonb, ${storable(files)}::jsonb,
          ${files.reduce((sum, { size }) => sum + size, 0)}::bigint, ${state}::text, ${reason}::text, ${address_hash}::text)`,
    );
    const { rows } = await sql<{ id: string }>`
      insert into form_submission (id, form_id, submission_key, data, files, bytes, state, reason, address_hash)
      values ${sql.join(values)}
      on conflict (form_id, submission_key) do nothing returning id`.execute(within.tables());
    const added = new Set(rows.map(({ id }) => id));
    return submissions.map(({ id }) => added.has(id));
  }

  async has(formId: string, key: string): Promise<boolean> {
    const { rows } = await sql`
      select from form_submission where form_id = ${formId} and submission_key = ${key}`.execute(
      this.database.tables(),
    );
    return rows.length > 0;
  }

  /** How many responses the form ever had, those taken for spam left out. */
  async responses(formId: string, within: Queries = this.database): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select f.purged + (select count(*)::int from form_submission s where s.form_id = f.id and s.state <> 'spam') as count
      from form f where f.id = ${formId}`.execute(within.tables());
    return rows[0]?.count ?? 0;
  }

  /** Whether so many came in the last so many seconds. Ids rise with time. */
  async isPressed(formId: string, { responses, seconds }: Pressure): Promise<boolean> {
    const { rows } = await sql`
      select from (
        select received_at from form_submission where form_id = ${formId} order by id desc offset ${responses - 1} limit 1) r
      where received_at > now() - ${seconds} * interval '1 second'`.execute(this.database.tables());
    return rows.length > 0;
  }

  /** Bytes of files that wait outside of their workspace. */
  async waitingBytes(formId: string): Promise<number> {
    const { rows } = await sql<{ bytes: string }>`
      select coalesce(sum(bytes), 0) as bytes from form_submission
      where form_id = ${formId} and state <> 'written'`.execute(this.database.tables());
    return Number(rows[0]?.bytes ?? 0);
  }

  /** Spends a challenge; false where that was done before. */
  async spend(challenge: string, expiresAt: Date): Promise<boolean> {
    const { rows } = await sql`
      insert into form_used_challenge (challenge, expires_at) values (${challenge}, ${expiresAt.toISOString()})
      on conflict do nothing returning challenge`.execute(this.database.tables());
    return rows.length > 0;
  }

  async find(
    formId: string,
    id: string,
    within: Queries = this.database,
  ): Promise<SubmissionRow | undefined> {
    const query = within.tables().selectFrom('form_submission').selectAll().where('form_id', '=', formId);
    return query.where('id', '=', id).executeTakeFirst();
  }

  /** Oldest first, from after `after`. */
  list(
    formId: string,
    { states, after, limit }: { states?: readonly SubmissionState[]; after?: string; limit: number },
  ): Promise<SubmissionRow[]> {
    let query = this.database
      .tables()
      .selectFrom('form_submission')
      .selectAll()
      .where('form_id', '=', formId);
    if (states) query = query.where('state', 'in', [...states]);
    if (after) query = query.where('id', '>', after);
    return query.orderBy('id').limit(limit).execute();
  }

  async accept(unit: UnitOfWork, id: string): Promise<boolean> {
    const { rows } = await sql`
      update form_submission set state = 'received', reason = null where id = ${id} and state = 'spam' returning id`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('form_submission').where('id', '=', id).execute();
  }

  /** Has all that is kept looked for in the file again. Returns how many. */
  async writeAgain(unit: UnitOfWork, formId: string): Promise<number> {
    const { rows } = await sql`
      update form_submission set state = 'received' where form_id = ${formId} and state = 'written' returning id`.execute(
      unit.tables(),
    );
    return rows.length;
  }

  async written(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
    await sql`
      update form_submission set state = 'written', written_at = coalesce(written_at, now()), bytes = 0
      where id = any(${[...ids]}::uuid[]) and state = 'received'`.execute(unit.tables());
  }

  /** Ids that are there and whose files are still to be written, or reviewed, of these. */
  async holding(ids: readonly string[]): Promise<Set<string>> {
    const { rows } = await sql<{ id: string }>`
      select id from form_submission where id = any(${[...ids]}::uuid[]) and state <> 'written'`.execute(
      this.database.tables(),
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Removes what was written so many days ago, and spam of that age. Returns how many. */
  async purge(days: number, most: number): Promise<number> {
    const { rows } = await sql`
      with old as (
        (select id from form_submission where state = 'written' and written_at < now() - ${days} * interval '1 day' limit ${most})
        union all
        (select id from form_submission where state = 'spam' and received_at < now() - ${days} * interval '1 day' limit ${most})
      ), gone as (
        delete from form_submission s using old where s.id = old.id returning s.id, s.form_id, s.state
      ), counted as (
        update form f set purged = f.purged + g.count
        from (select form_id, count(*)::int as count from gone where state = 'written' group by form_id order by form_id) g
        where f.id = g.form_id
      )
      select id from gone`.execute(this.database.tables());
    return rows.length;
  }

  async purgeChallenges(): Promise<void> {
    await sql`delete from form_used_challenge where expires_at < now()`.execute(this.database.tables());
  }

  private async bytesIn(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ bytes: string }>`
      select coalesce(sum(s.bytes), 0) as bytes from form f join form_submission s on s.form_id = f.id
      where f.workspace_id = ${workspaceId} and s.state <> 'written'`.execute(this.database.tables());
    return Number(rows[0]?.bytes ?? 0);
  }
}
