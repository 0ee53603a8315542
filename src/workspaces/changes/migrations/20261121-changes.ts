import { Migration } from '@mikro-orm/migrations';

/** The log of what happens to files. */
export class Changes extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_log (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        last_change bigint not null default 0
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
        changed_at timestamptz(3) not null
      );
      create unique index workspace_change_id_key on workspace_change (workspace_id, id);
      create index workspace_change_open on workspace_change (workspace_id, seq) where id is null;
      create index workspace_change_seq on workspace_change (workspace_id, seq);
      create index workspace_change_path on workspace_change (workspace_id, md5(path), seq);
      create index workspace_change_run_id on workspace_change (run_id, seq) where run_id is not null;

      -- Commands under way whose changes are not in the log yet.
      create table workspace_scan (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        writer_type text not null,
        writer_id text not null,
        run_id uuid,
        host text not null,
        pid int not null,
        from_seq bigint not null,
        started_at timestamptz(3) not null,
        deadline timestamptz(3) not null
      );
      create index workspace_scan_workspace_id on workspace_scan (workspace_id);
    `);
  }
}
