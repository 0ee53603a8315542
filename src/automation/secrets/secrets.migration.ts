import { Migration } from '@mikro-orm/migrations';

/** Sealed secrets of workspaces for the scripts of their automations. */
export class WorkspaceSecretsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_secret (
        workspace_id uuid not null references workspace on delete cascade,
        name text not null,
        sealed bytea not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        primary key (workspace_id, name)
      );
    `);
  }
}
