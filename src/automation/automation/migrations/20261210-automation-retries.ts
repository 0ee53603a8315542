import { Migration } from '@mikro-orm/migrations';

/** Runs that wait until a time, and runs that somebody asked for: these start while their deployment is paused. */
export class AutomationRetries extends Migration {
  override up(): void {
    this.addSql(`
      alter table automation_run add column not_before timestamptz, add column is_asked boolean not null default false;
      create index automation_run_not_before on automation_run (not_before) where state = 'queued' and not_before is not null;
    `);
  }
}
