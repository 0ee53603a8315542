import { Migration } from '@mikro-orm/migrations';

/** Versions of files. Their bytes are in a git repository beside the workspace. */
export class HistoryMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_history (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        -- Whether all that was there before is in it, and if not, up to which path.
        complete boolean not null default false,
        found_through text,
        bytes bigint not null default 0,
        tended_at timestamptz(3) not null,
        -- What was replaced before is forgotten; null: nothing was.
        kept_since timestamptz(3)
      );
      create index workspace_history_tended_at on workspace_history (tended_at);

      create table history_commit (
        id bigint generated always as identity primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        sha text not null,
        -- The last version (seq) that it has.
        through bigint not null,
        committed_at timestamptz(3) not null
      );
      create index history_commit_workspace_id on history_commit (workspace_id, committed_at);

      create table file_version (
        seq bigint generated always as identity primary key,
        id uuid not null unique,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        path text not null,
        kind text not null check (kind in ('found', 'created', 'modified', 'deleted', 'moved')),
        from_path text,
        size bigint,
        etag text,
        executable boolean not null,
        blob text,
        unkept text check (unkept in ('deleted', 'too_large', 'overwritten', 'full')),
        -- Whether a file was there before; which one, unless that is forgotten.
        replaced boolean not null,
        previous_id uuid references file_version (id) on delete set null,
        change_seq bigint,
        writer_type text,
        writer_id text,
        run_id uuid,
        changed_at timestamptz(3) not null,
        revision text,
        check ((blob is null) = (unkept is not null))
      );
      create index file_version_workspace_id on file_version (workspace_id, seq);
      -- Paths may be too long for an index.
      create index file_version_path on file_version (workspace_id, md5(path), seq);
      create index file_version_folder on file_version (workspace_id, left(path, 200) collate "C");
      create index file_version_run_id on file_version (run_id, seq) where run_id is not null;
      create index file_version_previous_id on file_version (previous_id);
      create index file_version_moved on file_version (workspace_id, left(path, 200) collate "C") where kind = 'moved';
    `);
  }
}
