import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { isOfWorkspace } from '../changes/index.js';
import type { VersionRow } from './draft.js';
import { isAtOrBelow, versionsBeforeMoves } from './version-lineage.js';

interface VersionFilter {
  readonly path: string;
  readonly runId?: string;
  readonly before?: string;
  readonly limit: number;
}

/** Questions about versions. */
@Injectable()
export class VersionReads {
  constructor(private readonly database: Database) {}

  /**
   * Newest first: of a file, of what is below a folder, or (path '') of all. Those from before a file was moved there from
   * elsewhere are among them.
   */
  async list(workspaceId: string, { path, runId, before, limit }: VersionFilter): Promise<VersionRow[]> {
    const page = (where: RawBuilder<unknown>, order = sql`seq desc`) => sql`(
      select * from file_version
      where ${where}
        and ${runId === undefined ? sql`true` : sql`run_id = ${runId}::uuid`}
        and ${before === undefined ? sql`true` : sql`seq < ${before}::bigint`}
      order by ${order} limit ${limit})`;
    const isOf = sql`workspace_id = ${workspaceId}`;
    const pages =
      path === ''
        ? page(isOfWorkspace(workspaceId), sql`workspace_id desc, seq desc`)
        : sql`${page(sql`${isOf} and ${isAtOrBelow(sql`path`, path)}`)}
            union ${page(sql`${isOf} and seq in (${versionsBeforeMoves(workspaceId, path)})`)}`;
    const { rows } = await sql<VersionRow>`
      select * from (${pages}) as versions order by seq desc limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  /** What a file that was moved was before, at the path that it had; undefined where it was not moved, or that is not known. */
  async beforeMove({ workspace_id, seq, kind, from_path }: VersionRow): Promise<VersionRow | undefined> {
    if (kind !== 'moved' || from_path === null) return undefined;
    const { rows } = await sql<VersionRow>`
      select v.* from file_version m, file_version v
      where m.seq = ${seq}::bigint
        -- Put so that only the index by path gives this order.
        and v.workspace_id = ${workspace_id} and md5(v.path) between md5(${from_path}) and md5(${from_path})
        and v.path = ${from_path} and v.seq < m.seq
        and not (v.kind = 'deleted' and v.change_seq is not distinct from m.change_seq)
      order by md5(v.path) desc, v.seq desc limit 1`.execute(this.database.tables());
    const [before] = rows;
    return before?.kind === 'deleted' ? undefined : before;
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
