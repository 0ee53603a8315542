import { Migration } from '@mikro-orm/migrations';

/** Runs are a queue of their own: which of them a worker may take up, and which process has them. */
export class RunQueueTables extends Migration {
  override up(): void {
    this.addSql(`
      -- Which processes live, by their last sign of life.
      create table process (
        id uuid primary key,
        seen_at timestamptz not null
      );

      alter table run
        -- It waits for a worker; of the runs of a chat, one at most waits or is held.
        add column due boolean not null default false,
        -- The process that carries it.
        add column holder uuid;
      create index run_due on run (number) where due;
      create index run_holder on run (holder) where holder is not null;

      update run set due = true
      where id in (select distinct on (chat_id) id from run where status = 'pending' order by chat_id, number);
    `);
  }
}
