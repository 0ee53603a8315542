import { Migration } from '@mikro-orm/migrations';

/** Automations: deployments, triggers, deliveries and runs. */
export class AutomationMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table automation_deployment (
        id uuid primary key,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        file_path text not null,
        state text not null check (state in ('live', 'paused', 'stopped')),
        paused_reason text,
        -- The number of the version that is live.
        version int not null,
        last_version int not null,
        -- On whose authority it acts.
        actor jsonb not null,
        -- Of automations that go on in one chat.
        chat_id uuid,
        failures_in_row int not null default 0,
        last_success_at timestamptz,
        alerted_at timestamptz,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        loops_reported_at timestamptz,
        -- When people are told that nothing has succeeded for too long.
        silent_at timestamptz,
        -- How its files stand to the version that is live, and up to which change of its workspace that is known.
        drift text not null default 'none' check (drift in ('none', 'changed', 'missing', 'invalid')),
        drift_at timestamptz not null default '-infinity',
        unique (workspace_id, file_path)
      );
      create index automation_deployment_silent on automation_deployment (silent_at) where silent_at is not null;

      create table automation_version (
        deployment_id uuid not null references automation_deployment on delete cascade deferrable initially deferred,
        number int not null,
        digest text not null,
        -- {path, sha256, bytes} of each file that it pins.
        files jsonb not null,
        definition jsonb not null,
        -- The agent as its file had it; null for scripts.
        agent jsonb,
        deployed_by uuid not null,
        created_at timestamptz not null,
        primary key (deployment_id, number)
      );

      create table automation_blob (
        deployment_id uuid not null references automation_deployment on delete cascade deferrable initially deferred,
        sha256 text not null,
        content bytea not null,
        primary key (deployment_id, sha256)
      );

      create table automation_trigger (
        id uuid primary key,
        deployment_id uuid not null references automation_deployment on delete cascade deferrable initially deferred,
        -- Of the triggers in its file, from 0; null: its file has it no more.
        position int,
        kind text not null check (kind in ('schedule', 'webhook', 'file', 'notification')),
        config jsonb not null,
        token_hash text,
        -- Secrets by which senders sign, the newest first; each is {sealed, until}.
        secrets jsonb not null default '[]',
        next_at timestamptz,
        -- What a next_at stands for where it is put off by jitter.
        next_slot timestamptz,
        cursor bigint,
        -- Changes that are gathered until fire_at.
        gathered jsonb,
        gathering_since timestamptz,
        fire_at timestamptz,
        created_at timestamptz not null,
        -- The address before the last rotation, which is good for a while.
        old_token_hash text,
        old_token_until timestamptz,
        -- When a trigger went live: changes before that are none of its business.
        since timestamptz
      );
      create index automation_trigger_deployment on automation_trigger (deployment_id, position);
      create index automation_trigger_due on automation_trigger (next_at) where next_at is not null;
      create index automation_trigger_fire on automation_trigger (fire_at) where fire_at is not null;
      create unique index automation_trigger_token on automation_trigger (token_hash) where token_hash is not null;
      create unique index automation_trigger_old_token on automation_trigger (old_token_hash) where old_token_hash is not null;
      create index automation_trigger_watching on automation_trigger (kind, deployment_id)
        where kind in ('file', 'notification') and position is not null;
      comment on column automation_trigger.cursor is 'Of file triggers, the newest change when they went live (workspace_change.seq); of notification triggers, the last notification that they have seen (notification.number)';

      create table automation_delivery (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        deployment_id uuid references automation_deployment on delete cascade deferrable initially deferred,
        trigger_id uuid references automation_trigger on delete set null deferrable initially deferred,
        version int,
        kind text not null check (kind in ('manual', 'schedule', 'webhook', 'file', 'notification')),
        key text,
        state text not null check (state in ('accepted', 'filtered', 'duplicate', 'skipped', 'held')),
        reason text,
        headers jsonb not null default '{}',
        sealed_payload bytea,
        payload_bytes int not null default 0,
        chain uuid[] not null default '{}',
        untrusted boolean not null default false,
        scheduled_for timestamptz,
        held_until timestamptz,
        received_at timestamptz not null,
        run_id uuid,
        depth int not null default 0
      );
      alter table automation_delivery alter column sealed_payload set storage external;
      create index automation_delivery_workspace on automation_delivery (workspace_id, id);
      create index automation_delivery_deployment on automation_delivery (deployment_id, id);
      create index automation_delivery_held on automation_delivery (held_until) where state = 'held';
      create index automation_delivery_received on automation_delivery (received_at);
      create index automation_delivery_kept_back on automation_delivery (deployment_id, received_at)
        where state in ('skipped', 'held');
      create index automation_delivery_trigger on automation_delivery (trigger_id, id) where trigger_id is not null;
      create index automation_delivery_recent on automation_delivery (deployment_id, received_at)
        where state = 'accepted' and (kind in ('file', 'notification') or (kind = 'manual' and depth > 0));

      create table automation_seen (
        trigger_id uuid not null references automation_trigger on delete cascade deferrable initially deferred,
        key text not null,
        delivery_id uuid not null,
        seen_at timestamptz not null,
        primary key (trigger_id, key)
      );
      create index automation_seen_at on automation_seen (seen_at);

      create table automation_run (
        id uuid primary key,
        organization_id uuid not null,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        deployment_id uuid references automation_deployment on delete cascade deferrable initially deferred,
        -- null: a draft, which has what it goes by itself.
        version int,
        draft jsonb,
        file_path text not null,
        delivery_id uuid not null,
        trigger_kind text not null check (trigger_kind in ('manual', 'schedule', 'webhook', 'file', 'notification')),
        kind text not null check (kind in ('agent', 'script')),
        state text not null check (state in ('queued', 'starting', 'running', 'done')),
        status text not null check (status in ('pending', 'completed', 'error')),
        stop_reason text,
        error text,
        -- What counts towards its limit of runs at once, and that limit.
        lane text not null,
        lane_max int not null,
        actor jsonb not null,
        holder uuid,
        chat_id uuid,
        call_id uuid,
        output jsonb,
        log text,
        exit_code int,
        cost_usd double precision,
        chain uuid[] not null default '{}',
        attempt int not null default 1,
        replay_of uuid,
        cancelled_at timestamptz,
        queued_at timestamptz not null,
        started_at timestamptz,
        finished_at timestamptz,
        scheduled_for timestamptz,
        output_bytes int not null default 0,
        not_before timestamptz,
        is_asked boolean not null default false,
        tries jsonb not null default '[]'
      );
      create index automation_run_workspace on automation_run (workspace_id, id);
      create index automation_run_deployment on automation_run (deployment_id, id);
      create index automation_run_open on automation_run (workspace_id, lane, id) where state <> 'done';
      create index automation_run_queued on automation_run (id) where state = 'queued';
      create index automation_run_call on automation_run (call_id) where call_id is not null;
      create index automation_run_busy on automation_run (workspace_id, lane) where state in ('starting', 'running');
      create index automation_run_finished on automation_run (finished_at) where finished_at is not null;
      create index automation_run_not_before on automation_run (not_before) where state = 'queued' and not_before is not null;

      -- What a script prints, in the order in which it does.
      create table automation_output (
        run_id uuid not null references automation_run on delete cascade deferrable initially deferred,
        number int not null,
        text text not null,
        created_at timestamptz not null,
        primary key (run_id, number)
      );

      create table automation_event_log (
        workspace_id uuid primary key references workspace on delete cascade deferrable initially deferred,
        last_event bigint not null default 0,
        pruned_through bigint not null default 0
      );

      -- An event has no number until somebody reads: those who write wait for nobody.
      create table automation_event (
        seq bigint generated always as identity primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        id bigint,
        type text not null,
        data jsonb not null,
        created_at timestamptz not null
      );
      create index automation_event_unnumbered on automation_event (workspace_id, seq) where id is null;
      create index automation_event_created_at on automation_event (created_at);
      create unique index automation_event_id on automation_event (workspace_id, id) where id is not null;
    `);
  }
}
