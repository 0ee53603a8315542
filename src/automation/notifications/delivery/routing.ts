import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import type { NotificationChannel } from '../channels/index.js';
import { decide, type Habits, quietUntil } from '../preferences/index.js';
import {
  type Mode,
  type Notification,
  PREFERRED_CHANNELS,
  type PreferredChannel,
  type TypeName,
  typeOf,
} from '../types/index.js';
import { RecipientsStore } from './recipients.store.js';

/** What becomes of a notification on one channel. */
export type Route =
  | { readonly to: 'nowhere'; readonly reason: string }
  | { readonly to: 'digest'; readonly targets: readonly string[] }
  /** Now; where `until` is given, then. */
  | { readonly to: 'targets'; readonly targets: readonly string[]; readonly until?: Date };

/** Decides by preferences, quiet hours and access where a notification goes. Asked when it is made and before each attempt. */
@Injectable()
export class Routing {
  constructor(private readonly recipients: RecipientsStore) {}

  /** undefined where the person does not want it. */
  async route(
    unit: UnitOfWork,
    notification: Notification,
    channel: NotificationChannel,
    { preferences, schedule, now }: Habits,
  ): Promise<Route | undefined> {
    const mode = modeOf(preferences, notification, channel);
    if (mode === 'off') return undefined;
    const found = await channel.targets(unit, notification);
    if ('reason' in found) return { to: 'nowhere', reason: found.reason };
    const { targets } = found;
    if (mode === 'digest') return { to: 'digest', targets };
    const quietEnd = channel.disturbs ? quietUntil(schedule, now) : undefined;
    const until = quietEnd && !isUrgent(notification, quietEnd) ? quietEnd : undefined;
    return { to: 'targets', targets, until };
  }

  /** As {@link route}, some time after it was made: why not, where the person may not know of it any more, or does already. */
  async again(
    unit: UnitOfWork,
    notification: Notification,
    channel: NotificationChannel,
    habits: Habits,
  ): Promise<Route> {
    if (!(await this.recipients.mayKnow(unit, notification)))
      return { to: 'nowhere', reason: 'They may not know of it any more' };
    const isAlways = isPreferred(channel.name) && typeOf(notification.type)?.always?.[channel.name];
    if (channel.disturbs && notification.read_at !== null && !isAlways)
      return { to: 'nowhere', reason: 'It was read before' };
    return (
      (await this.route(unit, notification, channel, habits)) ?? {
        to: 'nowhere',
        reason: 'They turned it off',
      }
    );
  }
}

const isPreferred = (channel: string): channel is PreferredChannel =>
  Object.hasOwn(PREFERRED_CHANNELS, channel);

function modeOf(
  preferences: Habits['preferences'],
  { type, organization_id }: Notification,
  { name }: NotificationChannel,
): Mode {
  if (!isPreferred(name)) return 'on';
  // One of another version, which has it in its table.
  if (!typeOf(type)) return 'off';
  return decide(preferences, { type: type as TypeName, organization_id }, name).mode;
}

/** Whether it cannot wait until then. */
const isUrgent = ({ severity, expires_at }: Notification, then: Date): boolean =>
  severity === 'critical' || (expires_at !== null && new Date(expires_at) <= then);
