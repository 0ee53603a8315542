import { Migration } from '@mikro-orm/migrations';

/** What people are told of, where it goes, and what they prefer. */
export class Notifications extends Migration {
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
    `);
  }

  override down(): void {
    this.addSql(`
      drop table notification_schedule, notification_preference, notification_delivery, digest, notification, notification_inbox;
    `);
  }
}
