import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import type { NotificationChannel, Targets } from '../channels/notification-channel.js';
import { decide, quietUntil } from '../preferences/preference.js';
import { type Habits } from '../preferences/preferences.store.js';
import { type Notification } from '../types/notification.js';
import {
  type Mode,
  PREFERRED_CHANNELS,
  type PreferredChannel,
  type TypeName,
  typeOf,
} from '../types/types.js';
import { RecipientsStore } from './recipients.store.js';

export type Route =
  | { readonly to: 'nowhere'; readonly reason: string }
  | { readonly to: 'digest'; readonly targets: readonly string[] }
  /** Now; where `until` is given, then. */
  | { readonly to: 'targets'; readonly targets: readonly string[]; readonly until?: Date };

export interface Meant {
  readonly notification: Notification;
  readonly habits: Habits;
}

/** Decides by preferences, quiet hours and access where a notification goes. Asked when it is made and before each attempt. */
@Injectable()
export class Routing {
  constructor(private readonly recipients: RecipientsStore) {}

  /** Routes of those notifications that their person wants on the channel. */
  async routes(
    unit: UnitOfWork,
    channel: NotificationChannel,
    all: readonly Meant[],
  ): Promise<(Meant & { readonly route: Route })[]> {
    const wanted = all.filter(
      ({ notification, habits }) => decideMode(habits.preferences, notification, channel) !== 'off',
    );
    if (wanted.length === 0) return [];
    const targets = await channel.targets(
      unit,
      wanted.map(({ notification }) => notification),
    );
    return wanted.map((one, at) => ({ ...one, route: routeTo(channel, one, targets[at] as Targets) }));
  }

  /** The route of one, some time after it was made: why not, where the person may not know of it any more, or does already. */
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
    const [wanted] = await this.routes(unit, channel, [{ notification, habits }]);
    return wanted?.route ?? { to: 'nowhere', reason: 'They turned it off' };
  }
}

function routeTo(channel: NotificationChannel, { notification, habits }: Meant, found: Targets): Route {
  if ('reason' in found) return { to: 'nowhere', reason: found.reason };
  const { preferences, schedule, now } = habits;
  const { targets } = found;
  if (decideMode(preferences, notification, channel) === 'digest') return { to: 'digest', targets };
  const quietEnd = channel.disturbs ? quietUntil(schedule, now) : undefined;
  const until = quietEnd && !isUrgent(notification, quietEnd) ? quietEnd : undefined;
  return { to: 'targets', targets, until };
}

const isPreferred = (channel: string): channel is PreferredChannel =>
  Object.hasOwn(PREFERRED_CHANNELS, channel);

function decideMode(
  preferences: Habits['preferences'],
  { type, organization_id }: Notification,
  { name }: NotificationChannel,
): Mode {
  if (!isPreferred(name)) return 'on';
  // One of another version, which has it in its table.
  if (!typeOf(type)) return 'off';
  return decide(preferences, { type: type as TypeName, organization_id }, name).mode;
}

const isUrgent = ({ severity, expires_at }: Notification, then: Date): boolean =>
  severity === 'critical' || (expires_at !== null && new Date(expires_at) <= then);
