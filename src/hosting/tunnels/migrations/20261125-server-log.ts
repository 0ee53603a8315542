import { Migration } from '@mikro-orm/migrations';

/** How far the logs of servers are, and how much they take. */
export class ServerLogColumns extends Migration {
  override up(): void {
    this.addSql(`
      alter table server
        -- The number of the latest entry of its log.
        add column log_last_id bigint not null default 0,
        add column log_bytes bigint not null default 0;
    `);
  }
}
