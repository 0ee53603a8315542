import { Field, PageOf } from '../../../platform/dto/index.js';
import {
  CATEGORIES,
  MODES,
  type Mode,
  PREFERRED_CHANNEL_NAMES,
  type PreferredChannel,
  SEVERITIES,
  TYPE_NAMES,
} from '../types/types.js';
import { DECIDERS } from './preference.js';

const SCOPE = {
  pattern: /^(all|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i,
  patternHint: 'must be all, or the id of an organization',
  example: 'all',
};
const TIME = { pattern: /^([01]\d|2[0-3]):[0-5]\d$/, patternHint: 'must be a time as HH:MM' };

export class PreferenceFields {
  @Field.text('Where it holds: an organization, or `all`', SCOPE) scope: string;

  @Field.choice('A type of notifications, or a category of them', [...CATEGORIES, ...TYPE_NAMES], {
    example: 'run.failed',
  })
  type: string;

  @Field.choice('The channel', PREFERRED_CHANNEL_NAMES, { example: 'mail' }) channel: PreferredChannel;
  @Field.choice('Each at once, none, or all of a day in one', MODES, { example: 'digest' }) mode: Mode;
}

export class ScheduleFields {
  @Field.text('Your time zone, as in the IANA database', { max: 64, example: 'Europe/Berlin' })
  timezone: string;

  @Field.text('When your quiet hours begin, in local time; null: you have none', {
    ...TIME,
    nullable: true,
    example: '22:00',
  })
  quiet_from: string | null;

  @Field.text('When they end', { ...TIME, nullable: true, example: '07:00' }) quiet_to: string | null;
  @Field.text('When your digests are sent, in local time', { ...TIME, example: '08:00' }) digest_at: string;

  @Field.integer('On which days: 1 is Monday, 7 is Sunday', {
    min: 1,
    max: 7,
    list: true,
    maxItems: 7,
    example: [1, 2, 3, 4, 5],
  })
  days: number[];
}

export class GetPreferences {
  @Field.id('The organization for which to show what holds; absent: outside of any', { optional: true })
  organization_id?: string;
}

export class SetPreferences {
  @Field.object('Takes the place of all that you preferred; absent: that stays', () => PreferenceFields, {
    list: true,
    maxItems: 1000,
    optional: true,
    shown: true,
    example: [{ scope: 'all', type: 'run.failed', channel: 'mail', mode: 'digest' }],
  })
  preferences?: PreferenceFields[];

  @Field.object('Your quiet hours and when digests are sent; absent: they stay', () => ScheduleFields, {
    optional: true,
  })
  schedule?: ScheduleFields;
}

export class DecisionView {
  @Field.text('The type', { example: 'run.failed' }) type: string;
  @Field.choice('The channel', PREFERRED_CHANNEL_NAMES) channel: string;
  @Field.choice('What holds', MODES) mode: string;
  @Field.choice('What decided it: the first of these that says anything', DECIDERS) decided_by: string;
}

export class PreferencesView {
  @Field.object('What you said', () => PreferenceFields, { list: true }) preferences: PreferenceFields[];

  @Field.object('What holds for each type on each channel', () => DecisionView, { list: true })
  matrix: DecisionView[];

  @Field.object('Your quiet hours and when digests are sent', () => ScheduleFields) schedule: ScheduleFields;
}

export class NotificationTypeView {
  @Field.text('Its name', { example: 'run.failed' }) type: string;
  @Field.text('Its category', { example: 'run' }) category: string;
  @Field.choice('How grave it is', SEVERITIES) severity: string;
  @Field.text('What has happened', { example: 'A run of yours failed' }) summary: string;

  @Field.record('The mode of each channel where you say nothing', {
    example: { in_app: 'on', mail: 'off', push: 'off' },
  })
  defaults: Record<string, string>;

  @Field.record('Channels that cannot be turned off, each with the reason', { example: {} })
  always: Record<string, string>;
}

export const NotificationTypePage = PageOf(NotificationTypeView, 'NotificationTypePage');
