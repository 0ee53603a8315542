import { daysAfter, instantOf, localTimeOf, weekdayOf } from '#libs/zoned-time/index.js';
import type { Row } from '../../../platform/database/index.js';
import { type Notification } from '../types/notification.js';
import {
  categoryOf,
  defaultMode,
  type Mode,
  type PreferredChannel,
  type TypeName,
  typeOf,
} from '../types/types.js';

export type Preference = Pick<
  Row<'notification_preference'>,
  'organization_id' | 'type_or_category' | 'channel' | 'mode'
>;
export type Schedule = Omit<Row<'notification_schedule'>, 'user_id'>;

/** Schedule of a person who has not set one. */
export const DEFAULT_SCHEDULE: Schedule = {
  timezone: 'UTC',
  quiet_from: null,
  quiet_to: null,
  digest_at: '08:00',
  days: [1, 2, 3, 4, 5, 6, 7],
};

/** What decides a mode, the first of these that says anything. */
export const DECIDERS = [
  'always',
  'organization_type',
  'organization_category',
  'type',
  'category',
  'default',
] as const;
export type Decider = (typeof DECIDERS)[number];

export interface Decision {
  readonly mode: Mode;
  readonly decided_by: Decider;
}

export function decide(
  preferences: readonly Preference[],
  { type, organization_id }: Pick<Notification, 'organization_id'> & { type: TypeName },
  channel: PreferredChannel,
): Decision {
  if (typeOf(type)?.always?.[channel]) return { mode: 'on', decided_by: 'always' };
  const inOrganization =
    organization_id === null
      ? []
      : ([
          ['organization_type', organization_id, type],
          ['organization_category', organization_id, categoryOf(type)],
        ] as const);
  const inOrder = [...inOrganization, ['type', null, type], ['category', null, categoryOf(type)]] as const;
  for (const [decided_by, organization, subject] of inOrder) {
    const found = preferences.find(
      preference =>
        preference.channel === channel &&
        preference.organization_id === organization &&
        preference.type_or_category === subject,
    );
    if (found) return { mode: found.mode, decided_by };
  }
  return { mode: defaultMode(type, channel), decided_by: 'default' };
}

/** When the quiet hours end in which `now` lies; undefined outside of them. */
export function quietUntil({ timezone, quiet_from, quiet_to }: Schedule, now: Date): Date | undefined {
  if (quiet_from === null || quiet_to === null) return undefined;
  const { date, time } = localTimeOf(now, timezone);
  const isOvernight = quiet_from > quiet_to;
  const isQuiet = isOvernight ? time >= quiet_from || time < quiet_to : time >= quiet_from && time < quiet_to;
  if (!isQuiet) return undefined;
  const end = instantOf(
    { date: isOvernight && time >= quiet_from ? daysAfter(date, 1) : date, time: quiet_to },
    timezone,
  );
  return end > now ? end : undefined;
}

/** When the next digest is sent: once on each of its days, also where clocks are set forward or back. */
export function nextDigest({ timezone, digest_at, days }: Schedule, now: Date): Date {
  const { date } = localTimeOf(now, timezone);
  for (let ahead = 0; ahead <= 8; ahead++) {
    const day = daysAfter(date, ahead);
    const at = instantOf({ date: day, time: digest_at }, timezone);
    if (days.includes(weekdayOf(day)) && at > now) return at;
  }
  throw new Error('A schedule has no day');
}
