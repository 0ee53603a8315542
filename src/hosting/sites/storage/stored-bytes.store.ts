import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';

/** Blobs younger than this may belong to a version that is not recorded yet. */
export const UNUSED_MS = 3_600_000;

/** Stored bytes per site, and which sites may hold unused ones. */
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

  /** Schedules a sweep for bytes that no version needs. */
  async added(siteId: string, bytes: number): Promise<void> {
    await sql`
      update site set stored_bytes = stored_bytes + ${bytes}, sweep_at = coalesce(sweep_at, ${LATER})
      where id = ${siteId}`.execute(this.database.tables());
  }

  /** Records the measured size after a failed build. */
  async measured(siteId: string, bytes: number): Promise<void> {
    await sql`
      update site set stored_bytes = ${bytes}, sweep_at = coalesce(sweep_at, ${LATER}) where id = ${siteId}`.execute(
      this.database.tables(),
    );
  }

  /** Schedules a sweep after versions were removed. */
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

  /** Returns the mark of the sweep. An interrupted sweep is repeated. */
  async beginSweep(unit: UnitOfWork, siteId: string): Promise<string> {
    const { rows } = await sql<{ mark: string }>`
      update site set sweep_at = ${LATER} where id = ${siteId} returning sweep_at::text as mark`.execute(
      unit.tables(),
    );
    return rows[0]?.mark ?? '';
  }

  /** Schedules another sweep if versions were removed meanwhile, or blobs were too new. */
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
