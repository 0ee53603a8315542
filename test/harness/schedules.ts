import { setTimeout as sleep } from 'node:timers/promises';
import type { TestService } from './service.js';

const HOUR_MS = 3_600_000;
/** Longer than what a test does with schedules of each full hour. */
const MARGIN_MS = 240_000;

/** Resolves when no full hour is near: schedules of each hour fire then by themselves. To be called before they are deployed. */
export async function awayFromTheHour(): Promise<void> {
  const left = HOUR_MS - (Date.now() % HOUR_MS);
  if (left < MARGIN_MS) await sleep(left + 1_000);
}

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
