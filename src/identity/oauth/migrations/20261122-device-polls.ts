import { Migration } from '@mikro-orm/migrations';

/** When a device last asked whether it was let in, and how many seconds it is to leave between two questions. */
export class DevicePolls extends Migration {
  override up(): void {
    this.addSql(`
      alter table oauth_artifact
        add column polled_at timestamptz,
        add column poll_seconds int;
    `);
  }
}
