import { Migration } from '@mikro-orm/migrations';

/** Sites and their versions. */
export class SitesMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table site (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        slug text not null,
        name text not null,
        -- Of the workspace; empty: all of it.
        folder text not null,
        preset text,
        install_command text,
        build_command text,
        output_dir text,
        -- Null: as the project says.
        spa boolean,
        node_memory int,
        -- Actions of the catalog that its viewers may run, on the authority of who set them.
        actions text[] not null default '{}',
        actions_public boolean not null default false,
        actions_actor jsonb,
        live_version_id uuid,
        -- The number of its latest version.
        last_number int not null default 0,
        -- Why newer versions do not go live by themselves.
        paused_at timestamptz,
        pause_reason text,
        locked_at timestamptz,
        locked_by uuid,
        lock_reason text,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        stored_bytes bigint not null default 0,
        sweep_at timestamptz
      );
      create index site_workspace_id on site (workspace_id, id);
      create index site_sweep_at on site (sweep_at) where sweep_at is not null;

      create table site_version (
        id uuid primary key,
        site_id uuid not null references site on delete cascade deferrable initially deferred,
        number int not null,
        state text not null,
        auto_promote boolean not null,
        promotion text not null default 'none',
        promotion_reason text,
        note text,
        preset text,
        error text,
        findings jsonb not null default '[]',
        manifest_hash text,
        files int not null default 0,
        bytes bigint not null default 0,
        -- Of the build: each gets a number, and only the latest may write.
        attempt int not null default 0,
        holder uuid,
        -- How often the process that built it was lost.
        losses int not null default 0,
        progress jsonb not null default '{}',
        pinned boolean not null default false,
        created_by uuid not null,
        created_at timestamptz not null,
        started_at timestamptz,
        finished_at timestamptz,
        -- When it went live the last time, and when it was no more.
        promoted_at timestamptz,
        retired_at timestamptz,
        chain jsonb,
        unique (site_id, number)
      );
      create index site_version_open on site_version (site_id, number) where state in ('queued', 'building');
      create index site_version_holder on site_version (holder) where holder is not null;
      comment on column site_version.state is 'One of: queued, building, built, failed, cancelled, purged';
      comment on column site_version.promotion is 'One of: none, done, skipped';

      create table site_version_log (
        version_id uuid not null references site_version on delete cascade deferrable initially deferred,
        id int not null,
        stream text not null,
        text text not null,
        created_at timestamptz not null,
        primary key (version_id, id)
      );
      comment on column site_version_log.stream is 'One of: stdout, stderr, system';
    `);
  }
}
