import { Migration } from '@mikro-orm/migrations';

/** Counts as rate-limiter-flexible keeps them: key, points, and expiry in milliseconds since 1970. */
export class LimitsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table attempt_count (
        key text primary key,
        points int not null,
        expire bigint
      );
      create index attempt_count_expire on attempt_count (expire);

      -- Counts that may be lost with a crash, and are not worth the write-ahead log.
      create unlogged table rate_count (
        key text primary key,
        points int not null,
        expire bigint
      );
      create index rate_count_expire on rate_count (expire);
    `);
  }
}
