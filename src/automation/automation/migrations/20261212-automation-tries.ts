import { Migration } from '@mikro-orm/migrations';

/** Tries of a run that failed and were followed by another one. */
export class AutomationTries extends Migration {
  override up(): void {
    this.addSql(`alter table automation_run add column tries jsonb not null default '[]'`);
  }
}
