import { Migration } from '@mikro-orm/migrations';

/** Connectors: remote MCP servers, the credentials for them, and their tools as people approved them. */
export class ConnectorsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table connector (
        id uuid primary key,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        -- Whose it is; null: its organization's.
        user_id uuid references "user" on delete cascade,
        name text not null,
        -- It begins the names of its tools.
        slug text not null,
        url text not null,
        auth text not null check (auth in ('none', 'bearer', 'headers', 'oauth')),
        -- Each person uses it with a credential of their own.
        per_user boolean not null,
        authorization_server text,
        client_id text,
        -- In the vault.
        client_secret_id uuid,
        is_disabled boolean not null default false,
        -- Why it could not be used the last time; null where it could.
        fault text,
        server jsonb,
        -- What the server says to models, and what people approved of that.
        instructions text,
        approved_instructions text,
        -- Rises with whatever requests depend on.
        revision int not null default 1,
        checked_at timestamptz,
        created_by uuid,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create unique index connector_organization_id_slug on connector (organization_id, slug);
      create index connector_user_id on connector (user_id) where user_id is not null;

      create table connector_credential (
        id uuid primary key,
        connector_id uuid not null references connector on delete cascade,
        -- Whose it is; null: everyone's who may use the connector.
        user_id uuid references "user" on delete cascade,
        token_set_id uuid not null,
        -- What tokens are good for, and how they are renewed; null: a person gave them.
        issuer text,
        resource text,
        client jsonb,
        -- Why a person has to look at it before it is used again; null: it is used.
        review text,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create unique index connector_credential_connector_id_user_id on connector_credential (connector_id, user_id)
        nulls not distinct;
      create index connector_credential_user_id on connector_credential (user_id) where user_id is not null;
      create unique index connector_credential_token_set_id on connector_credential (token_set_id);

      create table connector_tool (
        connector_id uuid not null references connector on delete cascade,
        name text not null,
        -- As the server says now, and its SHA-256.
        definition jsonb not null,
        hash text not null,
        -- As it was approved, which is what models are shown; null: it never was.
        approved jsonb,
        approved_hash text,
        state text not null check (state in ('new', 'approved', 'changed', 'removed', 'blocked')),
        effect text not null check (effect in ('read', 'write', 'destructive')),
        approved_by uuid,
        approved_at timestamptz,
        seen_at timestamptz not null,
        primary key (connector_id, name)
      );

      create table connector_grant (
        connector_id uuid not null references connector on delete cascade,
        workspace_id uuid not null references workspace on delete cascade,
        -- Null: all that are approved.
        tools text[],
        granted_by uuid,
        created_at timestamptz not null,
        primary key (connector_id, workspace_id)
      );
      create index connector_grant_workspace_id on connector_grant (workspace_id);
    `);
  }
}
