import { Migration } from '@mikro-orm/migrations';

/** Automations: what is deployed, what comes in, and what is run for it. */
export class Automations extends Migration {
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
        unique (workspace_id, file_path)
      );
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
        token_hash text unique,
        sealed_token bytea,
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
        created_at timestamptz not null
      );
      create index automation_trigger_deployment on automation_trigger (deployment_id, position);
      create index automation_trigger_due on automation_trigger (next_at) where next_at is not null;
      create index automation_trigger_fire on automation_trigger (fire_at) where fire_at is not null;

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
        run_id uuid
      );
      create index automation_delivery_workspace on automation_delivery (workspace_id, id);
      create index automation_delivery_deployment on automation_delivery (deployment_id, id);
      create index automation_delivery_held on automation_delivery (held_until) where state = 'held';
      create index automation_delivery_received on automation_delivery (received_at);

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
        finished_at timestamptz
      );
      create index automation_run_workspace on automation_run (workspace_id, id);
      create index automation_run_deployment on automation_run (deployment_id, id);
      create index automation_run_open on automation_run (workspace_id, lane, id) where state <> 'done';
      create index automation_run_queued on automation_run (id) where state = 'queued';
      create index automation_run_call on automation_run (call_id) where call_id is not null;
      create index automation_run_finished on automation_run (finished_at);

      alter table run add column automation_run_id uuid, add column pinned jsonb;
      comment on column run.automation_run_id is 'The run of an automation whose work it is';
      comment on column run.pinned is 'The agent that it goes by, as it was deployed';
      create function automation_run_ended() returns trigger language plpgsql as $$
      begin
        perform notify_topic('automation-ends');
        return null;
      end $$;
      create trigger automation_run_ended after update of status on run for each row
        when (new.automation_run_id is not null and old.status = 'pending' and new.status <> 'pending')
        execute function automation_run_ended();
      create trigger automation_run_deleted after delete on run for each row
        when (old.automation_run_id is not null) execute function automation_run_ended();
    `);
  }
}
