import { Migration } from '@mikro-orm/migrations';

/** Attachments of chats. */
export class AttachmentsMigration extends Migration {
  override up(): void {
    this.addSql(`
      -- Files as they were when they were sent; the same bytes are kept once a chat.
      create table attachment (
        chat_id uuid not null references chat on delete cascade deferrable initially deferred,
        hash text not null,
        bytes bytea not null,
        created_at timestamptz not null,
        workspace_id uuid,
        size bigint generated always as (octet_length(bytes)) stored,
        primary key (chat_id, hash)
      );
      alter table attachment alter column bytes set storage external;
      create index attachment_workspace_id on attachment (workspace_id) include (size);
    `);
  }
}
