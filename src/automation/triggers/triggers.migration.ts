import { Migration } from '@mikro-orm/migrations';

/** How far file triggers have read the change logs of workspaces. */
export class TriggersMigration extends Migration {
  override up(): void {
    this.addSql(`
      -- How far the file triggers of a workspace have read its log of changes; its lock makes one reader of it.
      create table automation_change_cursor (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        cursor bigint not null
      );
    `);
  }
}
