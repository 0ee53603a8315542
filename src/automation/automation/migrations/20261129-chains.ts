import { Migration } from '@mikro-orm/migrations';

/** How deep automations have led to one another, and when people were notified of what was skipped for that. */
export class Chains extends Migration {
  override up(): void {
    this.addSql(`
      alter table automation_delivery add column depth int not null default 0;
      alter table automation_deployment add column loops_reported_at timestamptz;
      create index automation_delivery_recent on automation_delivery (deployment_id, received_at);
    `);
  }
}
