import { Injectable } from '@nestjs/common';
import { isTimeZone, zoneOfAbbreviation } from '#libs/zoned-time/index.js';
import { OrganizationsStore } from '../../../identity/organizations/index.js';
import { type Actor, requireScope } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import type { Page } from '../../../platform/dto/index.js';
import { Forbidden, Invalid } from '../../../platform/errors/index.js';
import {
  categoryOf,
  defaultMode,
  PREFERRED_CHANNEL_NAMES,
  PREFERRED_CHANNELS,
  TYPE_NAMES,
  typeOf,
} from '../types/types.js';
import { decide, type Preference } from './preference.js';
import {
  GetPreferences,
  NotificationTypePage,
  NotificationTypeView,
  PreferenceFields,
  PreferencesView,
  ScheduleFields,
  SetPreferences,
} from './preferences.dto.js';
import { PreferencesStore } from './preferences.store.js';

const ALL = 'all';
const ORDER =
  'What holds is decided by the first of these that says anything: what cannot be turned off; the type in the organization; its category there; the type in all; its category in all; the default of the type.';

/** What the caller wants to be notified of, where and when. */
@Injectable()
export class PreferencesService {
  constructor(
    private readonly database: Database,
    private readonly preferences: PreferencesStore,
    private readonly organizations: OrganizationsStore,
  ) {}

  @Action('notification_type_list', 'GET /api/notifications/types', {
    summary: 'List everything that people can be told of',
    permission: 'notification.read',
    input: null,
    output: NotificationTypePage,
  })
  async types(actor: Actor): Promise<Page<NotificationTypeView>> {
    requireScope(actor, 'notification.read');
    return { items: TYPE_NAMES.map(typeView), next_cursor: null };
  }

  @Action('notification_preferences_get', 'GET /api/notifications/preferences', {
    summary: 'Read what you want to be told, where and when',
    description: ORDER,
    permission: 'preference.read',
    input: GetPreferences,
    output: PreferencesView,
    refuses: { 404: 'No such organization' },
  })
  async read(actor: Actor, { organization_id }: GetPreferences): Promise<PreferencesView> {
    requireScope(actor, 'preference.read');
    if (organization_id) await this.organizations.requireMember(actor, organization_id);
    return this.database.transaction(unit => this.view(unit, actor, organization_id ?? null));
  }

  @Action('notification_preferences_set', 'PUT /api/notifications/preferences', {
    summary: 'Change what you want to be told, where and when',
    description: ORDER,
    permission: 'preference.update',
    input: SetPreferences,
    output: PreferencesView,
    refuses: { 404: 'No such organization' },
  })
  async set(actor: Actor, { preferences, schedule }: SetPreferences): Promise<PreferencesView> {
    requireScope(actor, 'preference.update');
    if (actor.type !== 'user') throw new Forbidden('Only people have notifications');
    if (schedule) requireSound(schedule);
    const wanted = preferences?.map((fields, index) => readPreference(fields, `preferences.${index}`));
    const organizations = new Set(wanted?.map(({ organization_id }) => organization_id));
    for (const id of organizations) if (id) await this.organizations.requireMember(actor, id);
    return this.database.transaction(async unit => {
      if (wanted) await this.preferences.replace(unit, actor.id, wanted);
      if (schedule) await this.preferences.setSchedule(unit, actor.id, schedule);
      return this.view(unit, actor, null);
    });
  }

  private async view(
    unit: UnitOfWork,
    { id }: Actor,
    organization_id: string | null,
  ): Promise<PreferencesView> {
    const { preferences, schedule } = await this.preferences.read(unit, id);
    const { timezone, quiet_from, quiet_to, digest_at, days } = schedule;
    return {
      preferences: preferences.map(fieldsOf),
      matrix: TYPE_NAMES.flatMap(type =>
        PREFERRED_CHANNEL_NAMES.map(channel => ({
          type,
          channel,
          ...decide(preferences, { type, organization_id }, channel),
        })),
      ),
      schedule: { timezone, quiet_from, quiet_to, digest_at, days },
    };
  }
}

function readPreference({ scope, type, channel, mode }: PreferenceFields, path: string): Preference {
  const modes: readonly string[] = PREFERRED_CHANNELS[channel].modes;
  if (!modes.includes(mode))
    throw new Invalid(`${path}.mode must be one of ${modes.join(', ')} for ${channel}`);
  const covered = TYPE_NAMES.filter(name => name === type || categoryOf(name) === type);
  for (const name of covered) {
    const reason = typeOf(name)?.always?.[channel];
    if (reason && mode !== 'on')
      throw new Invalid(`${path}.mode must be on for ${name} (${channel}): ${reason}`);
  }
  return {
    organization_id: scope === ALL ? null : scope.toLowerCase(),
    type_or_category: type,
    channel,
    mode,
  };
}

const fieldsOf = ({ organization_id, type_or_category, channel, mode }: Preference): PreferenceFields => ({
  scope: organization_id ?? ALL,
  type: type_or_category,
  channel: channel as PreferenceFields['channel'],
  mode,
});

function requireSound({ timezone, quiet_from, quiet_to, days }: ScheduleFields): void {
  if (!isTimeZone(timezone)) {
    const meant = zoneOfAbbreviation(timezone) ?? 'Europe/Berlin';
    throw new Invalid(`schedule.timezone: ${timezone} is not an IANA time zone; use ${meant}`);
  }
  if ((quiet_from === null) !== (quiet_to === null) || (quiet_from !== null && quiet_from === quiet_to))
    throw new Invalid('schedule.quiet_to must be another time than quiet_from, or both null');
  if (days.length === 0) throw new Invalid('schedule.days must have a day');
}

const typeView = (type: (typeof TYPE_NAMES)[number]): NotificationTypeView => ({
  type,
  category: categoryOf(type),
  severity: typeOf(type)?.severity ?? 'info',
  summary: typeOf(type)?.summary ?? '',
  defaults: Object.fromEntries(PREFERRED_CHANNEL_NAMES.map(channel => [channel, defaultMode(type, channel)])),
  always: { ...typeOf(type)?.always },
});
