import { LRUCache } from 'lru-cache';
import { instantOf } from '#libs/zoned-time/index.js';
import { CronSchedule } from '../../platform/schedule/index.js';
import type { ScheduleTrigger } from './file/automation-definition.js';

/** The next slots of a schedule after an instant, at most `count`, and none after `until`. */
export function nextFires(
  { cron, at, timezone }: ScheduleTrigger,
  after: Date,
  count: number,
  until?: Date,
): Date[] {
  if (cron !== null) return scheduleOf(cron, timezone).nextOf(after, count, until);
  const [date = '', time = ''] = (at ?? '').split('T');
  const once = instantOf({ date, time: time.slice(0, 5) }, timezone);
  return once > after && !(until && once > until) ? [once] : [];
}

/** By expression and zone: a schedule knows when its zone changes next, which takes longer to find out than the next slot. */
const kept = new LRUCache<string, CronSchedule>({ max: 500 });

function scheduleOf(cron: string, timezone: string): CronSchedule {
  const name = `${timezone} ${cron}`;
  const known = kept.get(name);
  if (known) return known;
  const made = new CronSchedule(cron, timezone);
  kept.set(name, made);
  return made;
}
