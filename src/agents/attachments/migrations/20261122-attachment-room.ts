import { Migration } from '@mikro-orm/migrations';

/** What attachments take up counts as room of their workspace. */
export class AttachmentRoom extends Migration {
  override up(): void {
    this.addSql(`
      alter table attachment add column workspace_id uuid,
        add column size bigint generated always as (octet_length(bytes)) stored;
      update attachment a set workspace_id = c.workspace_id from chat c where c.id = a.chat_id;
      create index attachment_workspace_id on attachment (workspace_id) include (size);
    `);
  }
}
