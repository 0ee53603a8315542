import { RE2JS } from 're2js';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { toDouble } from '#libs/exact-json/index.js';
import type { Filter } from '#libs/value-filter/index.js';
import { instantOf, isTimeZone, zoneOfAbbreviation } from '#libs/zoned-time/index.js';
import { CronSchedule, InvalidCron } from '../../../platform/schedule/index.js';
import type { YamlMapping } from '../../../workspaces/yaml-files/index.js';
import {
  AUTOMATION_LIMITS,
  CHALLENGES,
  FILE_EVENTS,
  type FileTrigger,
  type HmacRule,
  MISSED,
  type NotificationTrigger,
  type ScheduleTrigger,
  TRIGGER_KINDS,
  type TriggerDefinition,
  VERIFICATIONS,
  type WebhookTrigger,
} from './automation-definition.js';
import { secondsOf } from './durations.js';

/** Of a regular expression in a filter: its characters, and the steps that it is compiled to. */
const MAX_EXPRESSION = 500;
const MAX_PROGRAM = 1000;

const DAY = 86_400;
const HEADER = /^[a-z0-9-]{1,100}$/;
const WEBHOOK_PATH = /^(?:headers|body|query)(?:\.[\w-]+)+$/;
const NOTIFICATION_PATH =
  /^(?:notification\.)?(?:id|type|category|severity|title|body|link|data(?:\.[\w-]+)+)$/;
const LOCAL_TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::00)?$/;

/** The triggers of a file; none where it is only run on demand. */
export function readTriggers(matter: YamlMapping): TriggerDefinition[] {
  return matter.mappings('on', AUTOMATION_LIMITS.triggers).flatMap((item): TriggerDefinition[] => {
    const [kind = '', ...others] = item.keys;
    item.expect(TRIGGER_KINDS);
    if (others.length > 0) item.findings.error('Each trigger is an item of its own', item.lineOf(others[0]));
    const rules = item.mapping(kind);
    if (!rules) {
      if (kind === 'webhook') return [{ kind, verify: 'token', filter: {}, hmac: null, challenge: null }];
      if (kind === 'notification') return [{ kind, categories: [], filter: {} }];
      if ((TRIGGER_KINDS as readonly string[]).includes(kind)) item.error(kind, 'says nothing');
      return [];
    }
    if (kind === 'schedule') return scheduleOf(rules);
    if (kind === 'webhook') return [webhookOf(rules)];
    if (kind === 'file') return [fileOf(rules)];
    if (kind === 'notification') return [notificationOf(rules)];
    return [];
  });
}

function scheduleOf(rules: YamlMapping): ScheduleTrigger[] {
  rules.expect(['cron', 'at', 'timezone', 'missed', 'catch_up', 'jitter']);
  const cron = rules.text('cron', 200) ?? null;
  const at = rules.text('at', 40) ?? null;
  const timezone = zoneOf(rules);
  if ((cron === null) === (at === null)) {
    rules.findings.error('A schedule has either cron or at', rules.lineOf(), 'cron: "0 9 * * 1-5"');
    return [];
  }
  if (cron !== null && !isCron(rules, cron, timezone)) return [];
  if (at !== null && !isLocalTime(rules, at, timezone)) return [];
  return [
    {
      kind: 'schedule',
      cron,
      at,
      timezone,
      missed: rules.choice('missed', MISSED) ?? 'once',
      catchUpSeconds: secondsOf(rules, 'catch_up', { least: 60, most: 30 * DAY }) ?? DAY,
      jitterSeconds: secondsOf(rules, 'jitter', { least: 0, most: 3600 }) ?? 0,
    },
  ];
}

function zoneOf(rules: YamlMapping): string {
  const zone = rules.text('timezone', 64);
  if (zone === undefined) {
    rules.findings.warn(
      'The schedule has no timezone, so it goes by UTC',
      rules.lineOf(),
      'timezone: Europe/Berlin',
    );
    return 'UTC';
  }
  if (isTimeZone(zone)) return zone;
  const meant = zoneOfAbbreviation(zone) ?? didYouMean(zone, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
  rules.error('timezone', `is no IANA time zone: ${zone}`, `timezone: ${meant ?? 'Europe/Berlin'}`);
  return 'UTC';
}

function isCron(rules: YamlMapping, cron: string, zone: string): boolean {
  try {
    if (new CronSchedule(cron, zone).next(new Date()) === null)
      rules.findings.warn(`cron "${cron}" never fires`, rules.lineOf('cron'));
    return true;
  } catch (error) {
    if (!(error instanceof InvalidCron)) throw error;
    rules.findings.error(error.message, rules.lineOf('cron'), 'cron: "0 9 * * 1-5"');
    return false;
  }
}

function isLocalTime(rules: YamlMapping, at: string, zone: string): boolean {
  const [, date = '', time = ''] = LOCAL_TIME.exec(at) ?? [];
  if (date === '' || Number.isNaN(Date.parse(`${date}T${time}Z`))) {
    rules.error('at', 'must be a local time', 'at: 2026-12-01T09:00');
    return false;
  }
  if (instantOf({ date, time }, zone) < new Date())
    rules.findings.warn(`at: ${at} is over; it never fires`, rules.lineOf('at'));
  return true;
}

function webhookOf(rules: YamlMapping): WebhookTrigger {
  const verify = rules.choice('verify', VERIFICATIONS) ?? 'token';
  const isHmac = verify === 'hmac';
  rules.expect([
    'verify',
    'filter',
    'challenge',
    ...(isHmac ? ['header', 'algorithm', 'encoding', 'prefix', 'id_header'] : []),
  ]);
  return {
    kind: 'webhook',
    verify,
    filter: filterOf(rules, WEBHOOK_PATH, 'body.action: [opened, reopened]'),
    hmac: isHmac ? hmacOf(rules) : null,
    challenge: rules.choice('challenge', CHALLENGES) ?? null,
  };
}

function hmacOf(rules: YamlMapping): HmacRule {
  return {
    header: headerOf(rules, 'header') ?? rules.error('header', 'is missing', 'header: x-signature') ?? '',
    algorithm: rules.choice('algorithm', ['sha256', 'sha512', 'sha1']) ?? 'sha256',
    encoding: rules.choice('encoding', ['hex', 'base64']) ?? 'hex',
    prefix: rules.text('prefix', 50) ?? '',
    idHeader: headerOf(rules, 'id_header') ?? null,
  };
}

function headerOf(rules: YamlMapping, key: string): string | undefined {
  const name = rules.text(key, 100)?.toLowerCase();
  if (name === undefined || HEADER.test(name)) return name;
  return rules.error(key, 'must be the name of a header');
}

function fileOf(rules: YamlMapping): FileTrigger {
  rules.expect(['glob', 'events', 'settle']);
  const glob = rules.text('glob', 500) ?? rules.error('glob', 'is missing', 'glob: "inbox/**/*.pdf"') ?? '';
  const events = rules.texts('events', FILE_EVENTS.length);
  for (const event of events)
    if (!(FILE_EVENTS as readonly string[]).includes(event)) {
      const meant = didYouMean(event, FILE_EVENTS);
      rules.error('events', `knows ${FILE_EVENTS.join(', ')} only`, meant && `Did you mean "${meant}"?`);
    }
  return {
    kind: 'file',
    glob,
    events: events.length === 0 ? ['created', 'modified'] : FILE_EVENTS.filter(one => events.includes(one)),
    settleSeconds: secondsOf(rules, 'settle', { least: 1, most: 600 }) ?? 2,
  };
}

function notificationOf(rules: YamlMapping): NotificationTrigger {
  rules.expect(['category', 'filter']);
  return {
    kind: 'notification',
    categories: rules.texts('category', 20),
    filter: filterOf(rules, NOTIFICATION_PATH, 'severity: critical'),
  };
}

function filterOf(rules: YamlMapping, paths: RegExp, suggestion: string): Filter {
  const value = rules.mapping('filter') && rules.value('filter');
  if (value === undefined || value === null) return {};
  const filter = value as Record<string, unknown>;
  for (const [path, rule] of Object.entries(filter)) {
    if (!paths.test(path)) rules.error('filter', `"${path.slice(0, 100)}" leads nowhere`, suggestion);
    if (!isRule(rule))
      rules.error(
        'filter',
        `"${path.slice(0, 100)}" must be a value, a list of values, { not: … } or { matches: "…" }, a regular expression of RE2`,
      );
  }
  return filter as Filter;
}

function isRule(rule: unknown): boolean {
  if (isValues(rule)) return true;
  if (typeof rule !== 'object' || rule === null) return false;
  const [key, ...more] = Object.keys(rule);
  if (more.length > 0) return false;
  if (key === 'matches') return isExpression((rule as { matches: unknown }).matches);
  return key === 'not' && isValues((rule as { not: unknown }).not);
}

function isExpression(text: unknown): boolean {
  if (typeof text !== 'string' || text.length > MAX_EXPRESSION) return false;
  try {
    return RE2JS.compile(text).programSize() <= MAX_PROGRAM;
  } catch {
    return false; // It is no regular expression.
  }
}

const isValues = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 && value.every(isScalar) : isScalar(value);

const isScalar = (value: unknown): boolean =>
  value === null || ['string', 'number', 'boolean'].includes(typeof toDouble(value));
