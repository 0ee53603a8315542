import { setTimeout as sleep } from 'node:timers/promises';
import type { TestService } from './service.js';

/** Schedules whose time comes when a test says so. */
export class Schedules {
  constructor(private readonly service: Pick<TestService, 'database'>) {}

  /** As if the time came now: the slots of full hours since `ago` (an interval of PostgreSQL) are due. */
  async makeDue(deploymentIds: readonly string[], ago = '0 hours'): Promise<void> {
    await this.service.database.query(
      `with hour as (select date_trunc('hour', now() - $2::interval) as at), due as (
         update automation_trigger set next_slot = hour.at, next_at = hour.at from hour
         where deployment_id = any($1::uuid[]) and position is not null and kind = 'schedule' returning id)
       select notify_topic('automation-triggers') from due limit 1`,
      [deploymentIds, ago],
    );
  }

  /** Resolves when nothing of them is due, and no run of theirs open. */
  async settled(deploymentIds: readonly string[]): Promise<void> {
    for (;;) {
      const [left] = await this.service.database.query<{ n: number }>(
        `select (select count(*) from automation_trigger where deployment_id = any($1::uuid[]) and next_at <= now())::int
           + (select count(*) from automation_run where deployment_id = any($1::uuid[]) and state <> 'done')::int as n`,
        [deploymentIds],
      );
      if (left?.n === 0) return;
      await sleep(50);
    }
  }
}
