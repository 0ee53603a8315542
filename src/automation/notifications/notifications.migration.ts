import { Migration } from '@mikro-orm/migrations';

/** Notifications, their deliveries and preferences, and the browsers and webhooks that receive them. */
export class NotificationsMigration extends Migration {
  override up(): void {
    this.addSql(`
      -- One row for each person who was ever told of something; its lock puts their notifications in order.
      create table notification_inbox (
        user_id uuid primary key references "user" on delete cascade,
        last_number bigint not null
      );

      create table notification (
        id uuid primary key,
        user_id uuid not null references "user" on delete cascade,
        organization_id uuid references organization on delete cascade,
        workspace_id uuid references workspace on delete cascade,
        -- Rises by time within an inbox.
        number bigint not null,
        type text not null,
        category text not null,
        severity text not null check (severity in ('info', 'warning', 'critical')),
        title text not null,
        body text not null,
        link text,
        data jsonb not null,
        -- Deployments that led to it, oldest first.
        chain uuid[] not null,
        dedupe_key text not null,
        -- Whether the inbox lists it.
        in_app boolean not null,
        expires_at timestamptz,
        read_at timestamptz,
        archived_at timestamptz,
        created_at timestamptz not null,
        chain_depth int not null default 0,
        untrusted boolean not null default false,
        unique (dedupe_key, user_id)
      );
      create unique index notification_number on notification (user_id, number);
      create index notification_unread on notification (user_id)
        where read_at is null and archived_at is null and in_app;
      create index notification_organization_id on notification (organization_id);
      create index notification_workspace_id on notification (workspace_id);
      create index notification_created_at on notification (created_at);

      create table digest (
        id uuid primary key,
        user_id uuid not null references "user" on delete cascade,
        channel text not null,
        -- When its window ends: what comes later is for the next one.
        send_at timestamptz not null,
        state text not null check (state in ('open', 'queued', 'done')),
        unique (user_id, channel, send_at)
      );
      create index digest_send_at on digest (send_at) where state = 'open';

      create table notification_delivery (
        id uuid primary key,
        notification_id uuid not null references notification on delete cascade,
        channel text not null,
        target text,
        state text not null check (state in ('queued', 'held', 'sent', 'failed', 'suppressed')),
        reason text,
        attempts int not null,
        -- Of one that is held: when it goes on, or the digest that it waits for.
        next_at timestamptz,
        digest_id uuid references digest on delete cascade,
        created_at timestamptz not null,
        settled_at timestamptz,
        unique nulls not distinct (notification_id, channel, target)
      );
      create index notification_delivery_held on notification_delivery (next_at) where state = 'held';
      create index notification_delivery_digest_id on notification_delivery (digest_id) where digest_id is not null;

      create table notification_preference (
        user_id uuid not null references "user" on delete cascade,
        -- Null: in all organizations.
        organization_id uuid references organization on delete cascade,
        type_or_category text not null,
        channel text not null,
        mode text not null check (mode in ('on', 'off', 'digest')),
        unique nulls not distinct (user_id, organization_id, type_or_category, channel)
      );
      create index notification_preference_organization_id on notification_preference (organization_id);

      create table notification_schedule (
        user_id uuid primary key references "user" on delete cascade,
        timezone text not null,
        -- Local times, HH:MM; null: no quiet hours.
        quiet_from text,
        quiet_to text,
        digest_at text not null,
        -- On which days digests are sent: 1 is Monday.
        days int[] not null
      );

      create table push_subscription (
        id uuid primary key,
        user_id uuid not null references "user" on delete cascade,
        -- Whoever has it and our key can send there; a browser has one.
        endpoint text not null unique,
        -- Sealed by the vault.
        keys bytea not null,
        created_at timestamptz not null
      );
      create index push_subscription_user_id on push_subscription (user_id);

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
}
