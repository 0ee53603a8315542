import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/database.js';
import { NotFound } from '../../platform/http/problem.js';
import type { VersionRow } from './draft.js';

interface VersionFilter {
  readonly path: string;
  readonly runId?: string;
  readonly before?: string;
  readonly limit: number;
}

/** Characters of a path that the index of folders has. */
const INDEXED = 200;
/** Sorts after all that may follow a beginning. */
const LAST = '\u{10ffff}'.repeat(4);

/** Questions about versions. */
@Injectable()
export class VersionReads {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Newest first: of a file, of what is below a folder, or (path '') of all. */
  async list(workspaceId: string, { path, runId, before, limit }: VersionFilter): Promise<VersionRow[]> {
    const start = [...`${path}/`].slice(0, INDEXED).join('');
    const { rows } = await sql<VersionRow>`
      select * from file_version
      where workspace_id = ${workspaceId}
        and ${
          path === ''
            ? sql`true`
            : sql`(md5(path) = md5(${path}) and path = ${path}
          or left(path, ${sql.lit(INDEXED)}) collate "C" >= ${start}
            and left(path, ${sql.lit(INDEXED)}) collate "C" <= ${start + LAST}
            and starts_with(path, ${`${path}/`}))`
        }
        and ${runId === undefined ? sql`true` : sql`run_id = ${runId}::uuid`}
        and ${before === undefined ? sql`true` : sql`seq < ${before}::bigint`}
      order by seq desc limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  async require(workspaceId: string, id: string): Promise<VersionRow> {
    const version = await this.find(workspaceId, id);
    if (!version) throw new NotFound('No such version; the history may not go back that far any more');
    return version;
  }

  async find(workspaceId: string, id: string): Promise<VersionRow | undefined> {
    const { rows } = await sql<VersionRow>`
      select * from file_version where workspace_id = ${workspaceId} and id = ${id}::uuid`.execute(
      this.database.tables(),
    );
    return rows[0];
  }
}
