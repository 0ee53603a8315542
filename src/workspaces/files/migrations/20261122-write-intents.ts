import { Migration } from '@mikro-orm/migrations';

/** Writes to files that are under way, so that one whose process ends before it was recorded is found. */
export class WriteIntents extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_write (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        -- The process that writes: its id among those that live, and where it runs.
        holder uuid not null,
        host text not null,
        pid int not null,
        writer_type text not null,
        writer_id text not null,
        -- What may change, and what was there before.
        targets jsonb not null,
        -- The newest change of the workspace when it began.
        from_seq bigint not null,
        -- So many of its changes are in the log.
        recorded int not null default 0,
        -- By the clock of the machine that writes, as the times of files are.
        began_at timestamptz(3) not null
      );
      create index workspace_write_workspace_id on workspace_write (workspace_id);
    `);
  }

  override down(): void {
    this.addSql('drop table workspace_write;');
  }
}
