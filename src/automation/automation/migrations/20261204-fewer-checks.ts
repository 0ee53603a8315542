import { Migration } from '@mikro-orm/migrations';

/**
 * What is written for everything that comes in, with less to check and to index. Deployments and triggers go with their
 * workspace and never alone, so that one key, to the workspace, takes all rows along. An index has only rows that are looked
 * for by it; and triggers that wait for others are found without reading all schedules.
 */
export class FewerChecks extends Migration {
  override up(): void {
    this.addSql(`
      alter table automation_delivery drop constraint automation_delivery_deployment_id_fkey,
        drop constraint automation_delivery_trigger_id_fkey;
      alter table automation_run drop constraint automation_run_deployment_id_fkey;

      drop index automation_delivery_recent;
      create index automation_delivery_recent on automation_delivery (deployment_id, received_at)
        where state = 'accepted' and (kind in ('file', 'notification') or (kind = 'manual' and depth > 0));
      drop index automation_run_finished;
      create index automation_run_finished on automation_run (finished_at) where finished_at is not null;
      drop index automation_event_id;
      create unique index automation_event_id on automation_event (workspace_id, id) where id is not null;

      alter table automation_trigger drop constraint automation_trigger_token_hash_key,
        drop constraint automation_trigger_old_token_hash_key;
      create unique index automation_trigger_token on automation_trigger (token_hash) where token_hash is not null;
      create unique index automation_trigger_old_token on automation_trigger (old_token_hash) where old_token_hash is not null;
      create index automation_trigger_watching on automation_trigger (kind, deployment_id)
        where kind in ('file', 'notification') and position is not null;
    `);
  }
}
