import { Migration } from '@mikro-orm/migrations';

/** Lists of chats are read from an index, with what callers filter by: most of an organization's may be hidden from the caller. */
export class ChatLists extends Migration {
  override up(): void {
    this.addSql(`
      create index chat_listed on chat (organization_id, created_at, id)
        include (workspace_id, created_by, pinned, archived, title) where task_of is null;
    `);
  }
}
