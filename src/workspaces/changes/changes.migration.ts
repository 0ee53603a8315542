import { Migration } from '@mikro-orm/migrations';

/** The log of changes to files, and the writes and scans that feed it. */
export class ChangesMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_log (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        last_change bigint not null default 0,
        pruned_through bigint not null default 0
      );

      -- A change has no id while more writes may still melt into it. Paths are found by their hash: one may be too long
      -- for an index.
      create table workspace_change (
        seq bigint generated always as identity primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        id bigint,
        path text not null,
        kind text not null check (kind in ('created', 'modified', 'deleted', 'moved')),
        from_path text,
        size bigint,
        etag text,
        writer_type text not null,
        writer_id text not null,
        run_id uuid,
        created_at timestamptz(3) not null,
        changed_at timestamptz(3) not null,
        -- What was recorded before there was a history is not caught up: the tree as it is now is its beginning.
        captured boolean not null default false,
        revision text
      );
      create unique index workspace_change_id_key on workspace_change (workspace_id, id);
      create index workspace_change_open on workspace_change (workspace_id, seq) where id is null;
      create index workspace_change_seq on workspace_change (workspace_id, seq);
      create index workspace_change_run_id on workspace_change (run_id, seq) where run_id is not null;
      create index workspace_change_uncaptured on workspace_change (workspace_id, seq) where not captured;
      create index workspace_change_created_at on workspace_change (created_at);
      create index workspace_change_place on workspace_change (md5(workspace_id::text || path), seq);
      create index workspace_change_from_place on workspace_change (md5(workspace_id::text || from_path), seq) where from_path is not null;

      -- Commands under way whose changes are not in the log yet.
      create table workspace_scan (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        writer_type text not null,
        writer_id text not null,
        run_id uuid,
        from_seq bigint not null,
        started_at timestamptz(3) not null,
        deadline timestamptz(3) not null,
        background boolean not null default false,
        holder uuid not null
      );
      create index workspace_scan_workspace_id on workspace_scan (workspace_id);

      create table workspace_write (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        -- The process that writes.
        holder uuid not null,
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
}
