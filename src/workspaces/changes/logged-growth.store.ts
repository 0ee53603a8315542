import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { isOfWorkspace, newestChange } from './change-log.store.js';

/** Longer than a statement that records changes takes: until then others with lower numbers may still appear. */
const SETTLED_MS = 2000;

export interface LoggedGrowth {
  /** What has been added since, without what was deleted: never less than the workspace has grown by it. */
  readonly bytes: number;
  readonly files: number;
  /** What of it is settled, and up to which change. */
  readonly settledBytes: number;
  readonly settledFiles: number;
  readonly settledSeq: string;
}

/** How much a workspace has grown by the log of changes, whoever made them. */
@Injectable()
export class LoggedGrowthStore {
  constructor(private readonly database: Database) {}

  async newest(workspaceId: string): Promise<string> {
    const { rows } = await sql<{ seq: string }>`select ${newestChange(workspaceId)} as seq`.execute(
      this.database.tables(),
    );
    return rows[0]?.seq ?? '0';
  }

  async since(workspaceId: string, seq: string): Promise<LoggedGrowth> {
    const { rows } = await sql<LoggedGrowth>`
      select coalesce(sum(bytes), 0)::float8 as bytes, coalesce(sum(files), 0)::float8 as files,
        coalesce(sum(bytes) filter (where settled), 0)::float8 as "settledBytes",
        coalesce(sum(files) filter (where settled), 0)::float8 as "settledFiles",
        coalesce(max(seq) filter (where settled), ${seq}::bigint)::text as "settledSeq"
      from (
        select seq, case when kind in ('created', 'modified') then coalesce(size, 0) else 0 end as bytes,
          (kind = 'created')::int as files,
          created_at < now() - ${SETTLED_MS} * interval '1 millisecond' as settled
        from workspace_change where ${isOfWorkspace(workspaceId)} and seq > ${seq}::bigint
        order by workspace_id, seq
      ) as changes`.execute(this.database.tables());
    return rows[0] as LoggedGrowth;
  }
}
