import { Migration } from '@mikro-orm/migrations';

/** Tokens of connections to external services. The secrets themselves are in the vault. */
export class StoredCredentialsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table token_set (
        id uuid primary key,
        -- What kind of owner it has: it says who renews it.
        kind text not null,
        organization_id uuid not null references organization on delete cascade,
        secret_id uuid not null,
        state text not null check (state in ('active', 'needs_reauth', 'error')),
        reason text,
        scopes text[] not null,
        is_renewable boolean not null,
        -- It is renewed from then on when it is used, at last when it ends.
        fresh_until timestamptz,
        access_expires_at timestamptz,
        refresh_expires_at timestamptz,
        -- It is renewed then, where it is in use, and people learn then that it ends.
        refresh_at timestamptz,
        warn_at timestamptz,
        -- Rises with each change of the tokens: a renewal names the one that it began with.
        revision int not null,
        -- The process that renews it.
        holder uuid,
        failures int not null,
        retry_at timestamptz,
        last_used_at timestamptz,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create index token_set_organization_id on token_set (organization_id);
      create index token_set_refresh_at on token_set (refresh_at) where refresh_at is not null;
      create index token_set_warn_at on token_set (warn_at) where warn_at is not null;
      create index token_set_holder on token_set (holder) where holder is not null;

      create table oauth_flow (
        id uuid primary key,
        -- What it is for, and the id of that.
        kind text not null,
        subject_id uuid not null,
        organization_id uuid not null references organization on delete cascade,
        -- Who began it, and the one who may finish it.
        user_id uuid not null references "user" on delete cascade,
        -- Of the address that it begins at.
        start_hash text not null unique,
        -- Of the state that the provider sends back, and the browser that was sent there.
        state_hash text unique,
        browser text,
        -- Sealed: the request, the verifier.
        details bytea not null,
        -- Sealed: what waits for the person's word.
        held bytea,
        outcome jsonb,
        expires_at timestamptz not null,
        consumed_at timestamptz,
        created_at timestamptz not null
      );
      create index oauth_flow_subject_id on oauth_flow (subject_id);
      create index oauth_flow_organization_id on oauth_flow (organization_id);
      create index oauth_flow_user_id on oauth_flow (user_id);
      create index oauth_flow_expires_at on oauth_flow (expires_at);
    `);
  }
}
