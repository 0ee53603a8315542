const DAY_MS = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** A zone's calendar and clock at one instant. */
export interface LocalTime {
  /** `2026-11-22` */
  readonly date: string;
  /** `09:30` */
  readonly time: string;
}

/**
 * The zone that is most often meant by an abbreviation. JavaScript takes some of these as zones of ICU: `PST`, and `BST` for
 * Dhaka. None is a zone of the IANA database.
 */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  ACT: 'Australia/Darwin',
  AET: 'Australia/Sydney',
  AGT: 'America/Argentina/Buenos_Aires',
  ART: 'Africa/Cairo',
  AST: 'America/Halifax',
  BET: 'America/Sao_Paulo',
  BST: 'Europe/London',
  CAT: 'Africa/Maputo',
  CDT: 'America/Chicago',
  CEST: 'Europe/Berlin',
  CNT: 'America/St_Johns',
  CST: 'America/Chicago',
  CTT: 'Asia/Shanghai',
  EAT: 'Africa/Nairobi',
  ECT: 'Europe/Paris',
  EDT: 'America/New_York',
  IET: 'America/Indiana/Indianapolis',
  IST: 'Asia/Kolkata',
  JST: 'Asia/Tokyo',
  MDT: 'America/Denver',
  MIT: 'Pacific/Apia',
  NET: 'Asia/Yerevan',
  NST: 'Pacific/Auckland',
  PDT: 'America/Los_Angeles',
  PLT: 'Asia/Karachi',
  PNT: 'America/Phoenix',
  PRT: 'America/Puerto_Rico',
  PST: 'America/Los_Angeles',
  SST: 'Pacific/Guadalcanal',
  VST: 'Asia/Ho_Chi_Minh',
};

/** Whether it is a time zone of the IANA database, in any of its spellings. */
export function isTimeZone(zone: string): boolean {
  try {
    return /^[A-Za-z]/.test(zone) && !(zone.toUpperCase() in ABBREVIATIONS) && formatOf(zone) !== undefined;
  } catch {
    return false;
  }
}

/** The zone that is meant by an abbreviation; undefined for any other text. */
export const zoneOfAbbreviation = (text: string): string | undefined => ABBREVIATIONS[text.toUpperCase()];

export function localTimeOf(instant: Date, zone: string): LocalTime {
  const text = new Date(instant.getTime() + offsetAt(instant.getTime(), zone)).toISOString();
  return { date: text.slice(0, 10), time: text.slice(11, 16) };
}

/**
 * The instant of a local time. One that the zone skips is later by the length of the gap; of one that comes twice it is the
 * first.
 */
export function instantOf({ date, time }: LocalTime, zone: string): Date {
  const local = Date.parse(`${date}T${time}:00Z`);
  const [before, after] = [offsetAt(local - DAY_MS, zone), offsetAt(local + DAY_MS, zone)];
  const isSkipped = offsetAt(local - after, zone) !== after;
  const isBefore = offsetAt(local - before, zone) === before;
  return new Date(local - (isBefore || isSkipped ? before : after));
}

/** The date so many days later. */
export const daysAfter = (date: string, days: number): string =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

/** 1 for Monday to 7 for Sunday (ISO 8601). */
export const weekdayOf = (date: string): number => new Date(`${date}T00:00:00Z`).getUTCDay() || 7;

/** How far the clocks of the zone are ahead of UTC. */
function offsetAt(instant: number, zone: string): number {
  const second = Math.floor(instant / 1000) * 1000;
  const part = Object.fromEntries(
    formatOf(zone)
      .formatToParts(second)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day, hour, minute, second: seconds } = part;
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - second;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const numeric = 'numeric' as const;
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: zone, calendar: 'iso8601', hourCycle: 'h23', numberingSystem: 'latn' },
    ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
  });
  formats.set(zone, format);
  return format;
}
