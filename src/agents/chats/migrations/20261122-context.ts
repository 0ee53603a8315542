import { Migration } from '@mikro-orm/migrations';

/** What models are given: summaries of long chats, attachments, and what is asked of their answers. */
export class Context extends Migration {
  override up(): void {
    this.addSql(`
      -- Stands for the messages of a chat up to a place in their order, which stay. Goes with the run that made it.
      create table chat_summary (
        id uuid primary key default gen_random_uuid(),
        chat_id uuid not null,
        run_id uuid not null references run on delete cascade deferrable initially deferred,
        step int not null,
        through_run bigint not null,
        through_message bigint not null,
        content jsonb not null,
        files text[] not null,
        message_count int not null,
        tokens_before int not null,
        tokens_after int not null,
        model text,
        usage jsonb,
        cost_usd double precision,
        created_at timestamptz not null
      );
      create index chat_summary_chat_id on chat_summary (chat_id, through_run desc, through_message desc, created_at desc);
      create index chat_summary_run_id on chat_summary (run_id, created_at);

      -- Files as they were when they were sent; the same bytes are kept once a chat.
      create table attachment (
        chat_id uuid not null references chat on delete cascade deferrable initially deferred,
        hash text not null,
        bytes bytea not null,
        created_at timestamptz not null,
        primary key (chat_id, hash)
      );
      alter table attachment alter column bytes set storage external;

      alter table message add column model text;
      -- json, as models write members in the order in which a schema has them.
      alter table run add column response_schema json;
      alter table run add column response_json json;
      alter table run add column fallback_models text[] not null default '{}';
      alter table organization_models add column fallback text[] not null default '{}';
    `);
  }
}
