import { Migration } from '@mikro-orm/migrations';

/** Who may open sites and servers, and who does. */
export class HostedAccessMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table hosted_access (
        target_kind text not null check (target_kind in ('site', 'server')),
        target_id uuid not null,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        mode text not null check (mode in ('private', 'workspace', 'org', 'restricted', 'link', 'password', 'public')),
        emails text[] not null default '{}',
        password_hash text,
        -- Of the link: a hash to find it by, and itself under a key of the vault, to be shown again.
        link_hash text,
        sealed_link text,
        identity text not null default 'id' check (identity in ('none', 'id', 'profile')),
        allowed_origins text[] not null default '{}',
        public_preview jsonb,
        versions text not null default 'workspace' check (versions in ('workspace', 'same')),
        -- Visits of an earlier policy do not count.
        policy_version bigint not null default 1,
        updated_by uuid not null,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        primary key (target_kind, target_id)
      );
      create index hosted_access_workspace on hosted_access (workspace_id);

      create table organization_exposure (
        organization_id uuid primary key references organization on delete cascade deferrable initially deferred,
        max_exposure text not null check (max_exposure in ('org', 'restricted', 'link', 'public')),
        updated_by uuid not null,
        updated_at timestamptz not null default now()
      );

      create table visit_ticket (
        hash text primary key,
        target_kind text not null,
        target_id uuid not null,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        host text not null,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        session_id uuid not null references session on delete cascade deferrable initially deferred,
        -- SHA-256 of the nonce of the one browser that it is for.
        state text not null,
        path text not null,
        expires_at timestamptz not null,
        used_at timestamptz
      );
      create index visit_ticket_expires on visit_ticket (expires_at);
      create index visit_ticket_workspace on visit_ticket (workspace_id);
      create index visit_ticket_user on visit_ticket (user_id);
      create index visit_ticket_session on visit_ticket (session_id);

      create table hosted_visit (
        id uuid primary key,
        hash text not null unique,
        target_kind text not null,
        target_id uuid not null,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        how text not null check (how in ('sign_in', 'password', 'link')),
        user_id uuid references "user" on delete cascade deferrable initially deferred,
        session_id uuid references session on delete cascade deferrable initially deferred,
        policy_version bigint not null,
        created_at timestamptz not null default now(),
        expires_at timestamptz not null
      );
      create index hosted_visit_target on hosted_visit (target_kind, target_id);
      create index hosted_visit_expires on hosted_visit (expires_at);
      create index hosted_visit_workspace on hosted_visit (workspace_id);
      create index hosted_visit_user on hosted_visit (user_id);
      create index hosted_visit_session on hosted_visit (session_id);

      create table hosted_token (
        id uuid primary key,
        hash text not null unique,
        target_kind text not null,
        target_id uuid not null,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        name text not null,
        created_by uuid not null,
        created_at timestamptz not null default now(),
        expires_at timestamptz not null
      );
      create index hosted_token_target on hosted_token (target_kind, target_id, id);
      create index hosted_token_workspace on hosted_token (workspace_id);
    `);
  }
}
