import { Migration } from '@mikro-orm/migrations';

/** Git repositories in workspaces. */
export class GitReposMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table git_repo (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade,
        -- Its folder in the workspace.
        path text not null,
        url text not null,
        -- That was asked for; null: the remote's own.
        branch text,
        -- Commits of each branch that are fetched; null: all.
        depth int,
        -- Whose credential the remote gets; null: none.
        connection_id uuid references integration_connection on delete set null,
        state text not null check (state in ('cloning', 'ready', 'missing', 'error')),
        reason text,
        operation_id uuid,
        last_pull_at timestamptz,
        last_push_at timestamptz,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        unique (workspace_id, path)
      );
      create index git_repo_connection_id on git_repo (connection_id) where connection_id is not null;
    `);
  }
}
