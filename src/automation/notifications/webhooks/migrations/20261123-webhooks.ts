import { Migration } from '@mikro-orm/migrations';

/** Programs that are told, what they are told, and how each attempt went. */
export class Webhooks extends Migration {
  override up(): void {
    this.addSql(`
      create table webhook_endpoint (
        id uuid primary key,
        -- Whose it is: a person's, who is told of it what they are told; or an organization's.
        user_id uuid references "user" on delete cascade,
        organization_id uuid references organization on delete cascade,
        -- A person, who is told when it fails.
        created_by uuid not null,
        url text not null,
        description text not null,
        -- Types and categories; empty: all.
        types text[] not null,
        state text not null check (state in ('enabled', 'disabled')),
        disabled_reason text check (disabled_reason in ('gone', 'failing')),
        -- Since when every attempt has failed.
        failing_since timestamptz,
        -- Both sealed by the vault. The one before signs, too, until then.
        secret bytea not null,
        previous_secret bytea,
        previous_until timestamptz,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        check ((user_id is null) <> (organization_id is null))
      );
      create index webhook_endpoint_user_id on webhook_endpoint (user_id);
      create index webhook_endpoint_organization_id on webhook_endpoint (organization_id);

      create table webhook_message (
        id uuid primary key,
        endpoint_id uuid not null references webhook_endpoint on delete cascade,
        -- What has happened: an endpoint is told of it once, however many people are.
        event_key text not null,
        type text not null,
        workspace_id uuid references workspace on delete cascade,
        -- Sent as it stands here in every attempt: it is what is signed.
        body text not null,
        state text not null check (state in ('pending', 'sent', 'failed')),
        attempts int not null,
        -- Of one that is pending: when the next attempt is due, and the process that makes it.
        next_at timestamptz,
        holder uuid,
        created_at timestamptz not null,
        settled_at timestamptz,
        unique (endpoint_id, event_key)
      );
      create index webhook_message_due on webhook_message (endpoint_id, next_at) where state = 'pending';
      create index webhook_message_holder on webhook_message (holder) where holder is not null;
      create index webhook_message_workspace_id on webhook_message (workspace_id);
      create index webhook_message_created_at on webhook_message (created_at);

      create table webhook_attempt (
        id uuid primary key,
        endpoint_id uuid not null references webhook_endpoint on delete cascade,
        message_id uuid not null references webhook_message on delete cascade,
        -- What the receiver answered; null: it gave no answer, the reason says why.
        status int,
        reason text,
        duration_ms int not null,
        created_at timestamptz not null
      );
      create index webhook_attempt_endpoint_id on webhook_attempt (endpoint_id, id);
      create index webhook_attempt_message_id on webhook_attempt (message_id);
    `);
  }

  override down(): void {
    this.addSql('drop table webhook_attempt, webhook_message, webhook_endpoint;');
  }
}
