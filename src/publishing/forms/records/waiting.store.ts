import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { submissionsTopic } from './submissions.store.js';

const MAX_FORMS = 50;

/** Forms whose responses are to be written to their files. */
@Injectable()
export class WaitingStore {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  /** Has every process look for forms that wait. */
  wake(): void {
    this.topics.publish(submissionsTopic());
  }

  /** Marks those that have something to write and no job yet; returns their ids. */
  async take(unit: UnitOfWork): Promise<{ ids: string[]; looked: number }> {
    const { rows } = await sql<{ id: string; queued: boolean }>`
      with waiting as (
        select distinct form_id from form_submission where state = 'received'
      ), due as (
        select id from form
        where not queued and (retry_at <= now() or (retry_at is null and id in (select form_id from waiting)))
        order by id limit ${MAX_FORMS} for no key update skip locked
      )
      update form f set queued = f.id in (select form_id from waiting), retry_at = null
      from due where f.id = due.id returning f.id, f.queued`.execute(unit.tables());
    return { ids: rows.filter(({ queued }) => queued).map(({ id }) => id), looked: rows.length };
  }

  /** Milliseconds until one is tried again. */
  async untilRetry(): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from min(retry_at) - now())::float8 * 1000 as ms from form where retry_at is not null and not queued`.execute(
      this.database.tables(),
    );
    return rows[0]?.ms ?? undefined;
  }

  /** The job has begun: what is received from now on takes another one. */
  async begin(formId: string): Promise<void> {
    await sql`update form set queued = false where id = ${formId}`.execute(this.database.tables());
  }

  /** They stay where they are for so many seconds; whether they were not in this trouble before. */
  async fail(unit: UnitOfWork, formId: string, trouble: string, seconds: number): Promise<boolean> {
    const { rows } = await sql<{ is_new: boolean }>`
      with before as (select id, trouble from form where id = ${formId} for no key update)
      update form f set queued = false, trouble = ${trouble}, retry_at = now() + ${seconds} * interval '1 second'
      from before b where f.id = b.id returning b.trouble is distinct from ${trouble} as is_new`.execute(
      unit.tables(),
    );
    return rows[0]?.is_new ?? false;
  }

  /** What comes meanwhile is written together, a second later. */
  async succeed(unit: UnitOfWork, formId: string): Promise<void> {
    await sql`
      update form set trouble = null, retry_at = now() + interval '1 second' where id = ${formId}`.execute(
      unit.tables(),
    );
  }

  /** Has them tried at once. */
  async hurry(unit: UnitOfWork, formId: string): Promise<void> {
    await sql`update form set retry_at = null, csv_file = null where id = ${formId}`.execute(unit.tables());
  }
}
