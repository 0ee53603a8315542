import { Migration } from '@mikro-orm/migrations';

/** Host names of sites and servers. */
export class HostsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table host_name (
        -- \`docs.sites\` below the domain of the installation, or a whole custom host.
        source text not null check (source in ('slug', 'custom')),
        name text not null,
        kind text not null check (kind in ('site', 'server')),
        target_id uuid not null,
        -- Null: the workspace is gone; a slug stays reserved for a while.
        workspace_id uuid references workspace on delete set null deferrable initially deferred,
        state text not null check (state in ('active', 'released', 'pending', 'verified', 'failed')),
        created_by uuid,
        created_at timestamptz not null default now(),
        released_at timestamptz,
        -- Of custom hosts: what their TXT record must hold, and how looking for it went.
        proof text,
        checked_at timestamptz,
        verified_at timestamptz,
        failing_since timestamptz,
        problem text
      );
      create index host_name_target on host_name (kind, target_id);
      create index host_name_workspace on host_name (workspace_id);
      create unique index host_name_slug on host_name (name) where source = 'slug';
      create unique index host_name_custom on host_name (name, kind, target_id) where source = 'custom';
      create unique index host_name_verified on host_name (name) where state = 'verified';
      create index host_name_checked on host_name (checked_at) where source = 'custom';
    `);
  }
}
