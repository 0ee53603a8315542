import { Migration } from '@mikro-orm/migrations';

/**
 * Payloads are sealed, which nothing compresses; uncompressed they are read piece by piece. And whether a lane has room is asked
 * for each run that waits.
 */
export class LargePayloads extends Migration {
  override up(): void {
    this.addSql(`
      alter table automation_delivery alter column sealed_payload set storage external;
      create index automation_run_busy on automation_run (workspace_id, lane) where state in ('starting', 'running');
    `);
  }
}
