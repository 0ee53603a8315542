import { Migration } from '@mikro-orm/migrations';

/** Counts as rate-limiter-flexible keeps them: key, points, and when they run out, in milliseconds since 1970. */
export class SharedCounts extends Migration {
  override up(): void {
    this.addSql(`
      alter table attempt_count rename column count to points;
      alter table attempt_count add column expire bigint;
      update attempt_count set expire = extract(epoch from expires_at) * 1000;
      alter table attempt_count drop column last_at, drop column expires_at;
      create index attempt_count_expire on attempt_count (expire);

      drop table rate_count;
      create unlogged table rate_count (
        key text primary key,
        points int not null,
        expire bigint
      );
      create index rate_count_expire on rate_count (expire);
    `);
  }
}
