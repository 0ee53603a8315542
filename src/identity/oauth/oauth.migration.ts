import { Migration } from '@mikro-orm/migrations';

/** The OAuth authorization server: clients, grants, artifacts and signing keys. */
export class OAuthMigration extends Migration {
  override up(): void {
    this.addSql(`
      -- Clients that registered themselves (RFC 7591); those that are documents or service accounts have no row.
      create table oauth_client (
        id text primary key,
        metadata jsonb not null,
        created_at timestamptz not null,
        last_used_at timestamptz
      );
      create index oauth_client_created_at on oauth_client (created_at);

      -- What a person allowed a client. Deleting the row revokes every token that came of it.
      create table oauth_grant (
        id uuid primary key,
        user_id uuid not null references "user" on delete cascade deferrable initially deferred,
        client_id text not null,
        client_name text not null,
        redirect_host text,
        scopes text[] not null,
        resources text[] not null,
        workspace_ids uuid[],
        terms jsonb not null,
        created_at timestamptz not null,
        last_used_at timestamptz,
        expires_at timestamptz not null
      );
      create index oauth_grant_user_id on oauth_grant (user_id, id);
      create index oauth_grant_client_id on oauth_grant (client_id);
      create index oauth_grant_expires_at on oauth_grant (expires_at);

      create trigger grant_revoked_told after delete on oauth_grant for each row execute function tell_of_credential();

      -- Codes, refresh tokens, browser sessions …: by the hash of their secret, and sealed.
      create table oauth_artifact (
        model text not null,
        id text not null,
        grant_id uuid references oauth_grant on delete cascade,
        lookup text,
        sealed bytea not null,
        consumed_at timestamptz,
        expires_at timestamptz not null,
        polled_at timestamptz,
        poll_seconds int,
        primary key (model, id)
      );
      create index oauth_artifact_grant_id on oauth_artifact (grant_id) where grant_id is not null;
      create index oauth_artifact_lookup on oauth_artifact (model, lookup) where lookup is not null;
      create index oauth_artifact_expires_at on oauth_artifact (expires_at);
    `);
  }
}
