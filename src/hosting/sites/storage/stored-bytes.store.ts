import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';

/** What is written before its version is there stays for this time. */
export const UNUSED_MS = 3_600_000;

/** How many bytes sites keep, and which of them may keep some that no version needs. */
@Injectable()
export class StoredBytesStore {
  constructor(private readonly database: Database) {}

  async inWorkspace(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ bytes: string }>`
      select coalesce(sum(stored_bytes), 0) as bytes from site where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return Number(rows[0]?.bytes ?? 0);
  }

  /** More is stored; what of it no version needs is looked for later. */
  async added(siteId: string, bytes: number): Promise<void> {
    await sql`
      update site set stored_bytes = stored_bytes + ${bytes}, sweep_at = coalesce(sweep_at, ${LATER})
      where id = ${siteId}`.execute(this.database.tables());
  }

  /** A build has failed: what it kept counts, as measured. */
  async measured(siteId: string, bytes: number): Promise<void> {
    await sql`
      update site set stored_bytes = ${bytes}, sweep_at = coalesce(sweep_at, ${LATER}) where id = ${siteId}`.execute(
      this.database.tables(),
    );
  }

  /** Versions of it have gone. */
  async sweepSoon(unit: UnitOfWork, siteId: string): Promise<void> {
    await sql`update site set sweep_at = now() where id = ${siteId}`.execute(unit.tables());
  }

  async dueForSweep(limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from site where sweep_at <= now() order by sweep_at limit ${limit}`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  /** Begins a sweep; returns its mark. One that is cut off is made again. */
  async beginSweep(unit: UnitOfWork, siteId: string): Promise<string> {
    const { rows } = await sql<{ mark: string }>`
      update site set sweep_at = ${LATER} where id = ${siteId} returning sweep_at::text as mark`.execute(
      unit.tables(),
    );
    return rows[0]?.mark ?? '';
  }

  /** Ends a sweep. Another follows where something went meanwhile, or was too new for this one. */
  async endSweep(siteId: string, mark: string, bytes: number): Promise<void> {
    await sql`
      update site set stored_bytes = ${bytes}, sweep_at = case
        when sweep_at::text = ${mark} and not exists (
          select from site_version where site_id = ${siteId}
            and (state = 'building' or finished_at > now() - 2 * ${UNUSED}))
        then null else sweep_at end
      where id = ${siteId}`.execute(this.database.tables());
  }
}

const UNUSED = sql`${UNUSED_MS} * interval '1 millisecond'`;
const LATER = sql`now() + ${UNUSED}`;
