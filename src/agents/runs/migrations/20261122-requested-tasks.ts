import { Migration } from '@mikro-orm/migrations';

/** Runs that a run starts through actions are its tasks; it knows how many there were. */
export class RequestedTasksOfRuns extends Migration {
  override up(): void {
    this.addSql('alter table run add column requested_tasks int not null default 0;');
  }
}
