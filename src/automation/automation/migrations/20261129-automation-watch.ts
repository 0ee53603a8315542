import { Migration } from '@mikro-orm/migrations';

/** What automations cost, how long they wait for people, how their files drift, and what their scripts print. */
export class AutomationWatch extends Migration {
  override up(): void {
    this.addSql(`
      alter table run add column deployment_id uuid, add column approval_seconds int;
      comment on column run.deployment_id is 'The deployment of the automation whose work it, or the run above it, is';
      alter table usage_entry add column deployment_id uuid;
      -- How many reminders of it were sent; null: none are.
      alter table approval add column reminders int;

      alter table automation_deployment
        -- When people are told that nothing has succeeded for too long.
        add column silent_at timestamptz,
        -- How its files stand to the version that is live, and up to which change of its workspace that is known.
        add column drift text not null default 'none' check (drift in ('none', 'changed', 'missing', 'invalid')),
        add column drift_at timestamptz not null default '-infinity';
      create index automation_deployment_silent on automation_deployment (silent_at) where silent_at is not null;

      create index automation_delivery_kept_back on automation_delivery (deployment_id, received_at)
        where state in ('skipped', 'held');
      create index automation_delivery_trigger on automation_delivery (trigger_id, id) where trigger_id is not null;
      alter table automation_run add column scheduled_for timestamptz, add column output_bytes int not null default 0;
      -- What a script prints, in the order in which it does.
      create table automation_output (
        run_id uuid not null references automation_run on delete cascade deferrable initially deferred,
        number int not null,
        text text not null,
        created_at timestamptz not null,
        primary key (run_id, number)
      );
    `);
  }
}
