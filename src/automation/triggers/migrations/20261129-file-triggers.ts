import { Migration } from '@mikro-orm/migrations';

/** What file and notification triggers have read. */
export class FileTriggers extends Migration {
  override up(): void {
    this.addSql(`
      -- How far the file triggers of a workspace have read its log of changes; its lock makes one reader of it.
      create table automation_change_cursor (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        cursor bigint not null
      );
      -- When a trigger went live: changes before that are none of its business.
      alter table automation_trigger add column since timestamptz;
      comment on column automation_trigger.cursor is
        'Of file triggers, the newest change when they went live (workspace_change.seq); of notification triggers, the last notification that they have seen (notification.number)';
    `);
  }
}
