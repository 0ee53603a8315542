import { Migration } from '@mikro-orm/migrations';

/** Versions before kept jobs in `job_outbox` until Redis had them; what they left there is executed too. */
export class LeftJobs extends Migration {
  override up(): void {
    this.addSql(`
      with left_behind as (delete from job_outbox returning *)
      insert into accepted_job (id, queue, name, payload, look_at, created_at)
      select id, queue, name, payload, now(), created_at from left_behind on conflict do nothing;
    `);
  }
}
