import { instantOf } from '#libs/zoned-time/index.js';
import { CronSchedule } from '../../../platform/schedule/index.js';
import type { ScheduleTrigger } from '../file/index.js';

/** The next slots of a schedule after an instant, at most `count`, and none after `until`. */
export function nextFires(
  { cron, at, timezone }: ScheduleTrigger,
  after: Date,
  count: number,
  until?: Date,
): Date[] {
  if (cron !== null) return new CronSchedule(cron, timezone).nextOf(after, count, until);
  const [date = '', time = ''] = (at ?? '').split('T');
  const once = instantOf({ date, time: time.slice(0, 5) }, timezone);
  return once > after && !(until && once > until) ? [once] : [];
}
