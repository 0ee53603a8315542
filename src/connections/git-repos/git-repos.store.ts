import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Actor, WorkspacePermission } from '../../platform/access/index.js';
import { Subject } from '../../platform/actions/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../platform/dto/index.js';
import { NotFound, unseenAs } from '../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../../workspaces/core/index.js';

export const REPO_STATES = ['cloning', 'ready', 'missing', 'error'] as const;
export type RepoState = (typeof REPO_STATES)[number];

declare global {
  interface ColumnTypes {
    'git_repo.state': RepoState;
  }
}

export type RepoRow = Row<'git_repo'>;
export interface SeenRepo {
  readonly row: RepoRow;
  readonly workspace: VisibleWorkspace;
}

export type NewRepo = Pick<
  RepoRow,
  'workspace_id' | 'path' | 'url' | 'branch' | 'depth' | 'connection_id' | 'operation_id' | 'created_by'
>;
export type RepoChanges = Partial<
  Pick<RepoRow, 'path' | 'branch' | 'connection_id' | 'state' | 'reason' | 'last_pull_at' | 'last_push_at'>
>;

type Queries = Pick<Database, 'tables'>;
const UNKNOWN = 'No such repository';

@Injectable()
export class GitReposStore {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
  ) {}

  /** 404 where the caller does not see it, 403 where they may not. */
  @Subject('git_repo', 'workspace', ({ workspace }: SeenRepo) => ({
    organization_id: workspace.organization_id,
    workspace_id: workspace.id,
  }))
  async require(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
    within?: Queries,
  ): Promise<SeenRepo> {
    const row = await this.find(id, within);
    if (!row) throw new NotFound(UNKNOWN);
    const workspace = await unseenAs(
      UNKNOWN,
      this.workspaces.require(actor, permission, row.workspace_id, within),
    );
    return { row, workspace };
  }

  find(id: string, within: Queries = this.database): Promise<RepoRow | undefined> {
    return within.tables().selectFrom('git_repo').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Ordered by id, oldest first. */
  list(workspaceId: string, input: PageInput): Promise<Page<RepoRow>> {
    const repos = this.database.tables().selectFrom('git_repo').selectAll();
    return selectPage(repos.where('workspace_id', '=', workspaceId), input);
  }

  async count(unit: UnitOfWork, workspaceId: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from git_repo where workspace_id = ${workspaceId}`.execute(unit.tables());
    return rows[0]?.count ?? 0;
  }

  async isTaken(unit: UnitOfWork, workspaceId: string, path: string): Promise<boolean> {
    const query = unit.tables().selectFrom('git_repo').select('id').where('workspace_id', '=', workspaceId);
    return (await query.where('path', '=', path).executeTakeFirst()) !== undefined;
  }

  /** In the place of one that was not cloned; nothing where another has the folder. */
  async insert(unit: UnitOfWork, repo: NewRepo): Promise<RepoRow | undefined> {
    const { workspace_id, path, ...rest } = repo;
    const now = sql<string>`now()`;
    const row = { ...repo, id: newId(), state: 'cloning' as const, created_at: now, updated_at: now };
    return unit
      .tables()
      .insertInto('git_repo')
      .values(row)
      .onConflict(conflict =>
        conflict
          .columns(['workspace_id', 'path'])
          .doUpdateSet({
            ...rest,
            id: row.id,
            state: 'cloning',
            reason: null,
            created_at: now,
            updated_at: now,
          })
          .where('git_repo.state', 'in', ['error', 'missing']),
      )
      .returningAll()
      .executeTakeFirst();
  }

  async change(id: string, changes: RepoChanges, within: Queries = this.database): Promise<RepoRow> {
    const row = await within
      .tables()
      .updateTable('git_repo')
      .set({ ...changes, updated_at: sql<string>`now()` })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    if (!row) throw new NotFound(UNKNOWN);
    return row;
  }

  /** Ends the clone of an operation, unless the row belongs to another by now. */
  async settle(unit: UnitOfWork, id: string, operationId: string, changes: RepoChanges): Promise<void> {
    const query = unit
      .tables()
      .updateTable('git_repo')
      .set({ ...changes, updated_at: sql<string>`now()` });
    await query.where('id', '=', id).where('operation_id', '=', operationId).execute();
  }

  async delete(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('git_repo').where('id', '=', id).execute();
  }
}
