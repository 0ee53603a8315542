import { Migration } from '@mikro-orm/migrations';

/** Runs that agents hand to subagents, each in a chat of its own. */
export class Tasks extends Migration {
  override up(): void {
    this.addSql(`
      alter table run
        add column parent_id uuid references run on delete cascade deferrable initially deferred,
        -- The tool call of the parent whose result it is.
        add column parent_step int,
        add column parent_position int,
        add column depth int not null default 0,
        -- The allowlists of those above it, each of which must allow what it calls.
        add column tools_above jsonb not null default '[]',
        add check ((parent_id is null) = (depth = 0));
      create unique index run_parent_id on run (parent_id, parent_step, parent_position) where parent_id is not null;

      alter table chat add column task_of uuid references run on delete cascade deferrable initially deferred;
      create index chat_task_of on chat (task_of) where task_of is not null;
    `);
  }
}
