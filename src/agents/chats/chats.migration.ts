import { Migration } from '@mikro-orm/migrations';

/** Chats. */
export class ChatsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table chat (
        id uuid primary key,
        title text not null,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        workspace_id uuid references workspace on delete cascade deferrable initially deferred,
        agent_name text,
        model text,
        pinned boolean not null,
        archived boolean not null,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        last_message_at timestamptz,
        task_of uuid
      ) with (fillfactor = 80);
      create index chat_organization_id on chat (organization_id, created_at, id);
      create index chat_workspace_id on chat (workspace_id, created_at, id);
      create index chat_created_by on chat (created_by, created_at, id);
      create index chat_task_of on chat (task_of) where task_of is not null;
      create index chat_listed on chat (organization_id, created_at, id)
        include (workspace_id, created_by, pinned, archived, title) where task_of is null;
    `);
  }
}
