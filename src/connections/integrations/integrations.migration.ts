import { Migration } from '@mikro-orm/migrations';

/** Integrations: providers and clients of organizations, connections, and where they may be used. */
export class IntegrationsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table integration_provider (
        id uuid primary key,
        organization_id uuid not null references organization on delete cascade,
        -- What connections name: none that comes with the service has it.
        slug text not null,
        definition jsonb not null,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        unique (organization_id, slug)
      );

      create table integration_client (
        organization_id uuid not null references organization on delete cascade,
        provider text not null,
        client_id text not null,
        -- In the vault; none: a public client.
        secret_id uuid,
        updated_by uuid not null,
        updated_at timestamptz not null,
        primary key (organization_id, provider)
      );

      create table integration_connection (
        id uuid primary key,
        organization_id uuid not null references organization on delete cascade,
        -- Whose it is: a person's, whose runs alone may use it; null: the organization's.
        user_id uuid references "user" on delete cascade,
        provider text not null,
        name text not null,
        -- {id, label} of the account there.
        account jsonb,
        state text not null check (state in ('pending', 'active', 'needs_reauth', 'error', 'revoked')),
        reason text,
        scopes text[] not null,
        -- What was typed and is no secret.
        settings jsonb not null,
        token_set_id uuid unique,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create index integration_connection_organization_id on integration_connection (organization_id, id);
      create index integration_connection_user_id on integration_connection (user_id) where user_id is not null;

      create table connection_grant (
        connection_id uuid not null references integration_connection on delete cascade,
        workspace_id uuid not null references workspace on delete cascade,
        -- None: any.
        methods text[] not null,
        paths text[] not null,
        granted_by uuid not null,
        created_at timestamptz not null,
        repositories text[] not null default '{}',
        permissions jsonb not null default '{}',
        primary key (connection_id, workspace_id)
      );
      create index connection_grant_workspace_id on connection_grant (workspace_id);

      create table limited_token (
        token_set_id uuid primary key references token_set on delete cascade,
        connection_id uuid not null references integration_connection on delete cascade,
        -- {repositories, permissions}, written in one way.
        limits text not null,
        unique (connection_id, limits)
      );
    `);
  }
}
