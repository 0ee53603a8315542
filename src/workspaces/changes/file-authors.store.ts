import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Database, type Row } from '../../platform/database/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { isAt, placeOf } from './change-rows.store.js';
import { PEOPLE, type Writer } from './writer.js';

type LastChange = Pick<Row<'workspace_change'>, 'etag' | 'revision'> & { writer_type: Writer['type'] | null };

/** Who saved a file last, by the change log and the history. */
@Injectable()
export class FileAuthorsStore {
  constructor(
    private readonly database: Database,
    private readonly folders: WorkspaceFolders,
  ) {}

  /**
   * Whether a person, or a service account, saved the file as it is now; no run, command, visitor or application. False
   * where that is not known: writes of a command are logged when it ends.
   */
  async isSavedByPerson(workspace: Parameters<WorkspaceFolders['open']>[0], path: string): Promise<boolean> {
    const last = (await this.lastInLog(workspace.id, path)) ?? (await this.lastInHistory(workspace.id, path));
    if (!last || !PEOPLE.includes(last.writer_type)) return false;
    try {
      const files = this.folders.reader(workspace.id);
      if (last.revision !== null) return (await files.revision(path)) === last.revision;
      return (await files.stat(path)).etag === last.etag;
    } catch (error) {
      if (error instanceof WorkspaceFsError) return false;
      throw error;
    }
  }

  /** The last change of a file that is in the log, and the run that made it. */
  async lastChange(
    workspaceId: string,
    path: string,
  ): Promise<Pick<Row<'workspace_change'>, 'etag' | 'run_id'> | undefined> {
    const { rows } = await sql<Pick<Row<'workspace_change'>, 'etag' | 'run_id'>>`
      select c.etag, c.run_id from workspace_change c where ${isAt('c.path', workspaceId, sql`${path}::text`)}
      order by ${placeOf('c.path')} desc, c.seq desc limit 1`.execute(this.database.tables());
    return rows[0];
  }

  /** Also moves of the folders above, which bring their files with them. */
  private async lastInLog(workspaceId: string, path: string): Promise<LastChange | undefined> {
    const parts = path.split('/');
    const paths = parts.map((_, depth) => parts.slice(0, depth + 1).join('/'));
    const { rows } = await sql<LastChange>`
      select writer_type, etag, revision from workspace_change
      where md5(workspace_id::text || path) in (select md5(${workspaceId}::uuid::text || p) from unnest(${paths}::text[]) p)
        and workspace_id::text = ${workspaceId}::uuid::text
        and (path = ${path} or kind = 'moved')
      order by seq + 0 desc limit 1`.execute(this.database.tables());
    return rows[0];
  }

  private async lastInHistory(workspaceId: string, path: string): Promise<LastChange | undefined> {
    const { rows } = await sql<LastChange>`
      select writer_type, etag, revision from file_version
      -- Put so that only the index by path gives this order.
      where workspace_id = ${workspaceId} and md5(path) between md5(${path}) and md5(${path}) and path = ${path}
      order by md5(path) desc, seq desc limit 1`.execute(this.database.tables());
    return rows[0];
  }
}
