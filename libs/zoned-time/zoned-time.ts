import { Temporal } from 'temporal-polyfill';

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
  if (!/^[A-Za-z]/.test(zone) || zone.toUpperCase() in ABBREVIATIONS) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined;
  } catch {
    return false;
  }
}

/** The zone that is meant by an abbreviation; undefined for any other text. */
export const zoneOfAbbreviation = (text: string): string | undefined => ABBREVIATIONS[text.toUpperCase()];

export function localTimeOf(instant: Date, zone: string): LocalTime {
  const local = Temporal.Instant.fromEpochMilliseconds(instant.getTime())
    .toZonedDateTimeISO(zone)
    .toPlainDateTime();
  return {
    date: local.toPlainDate().toString(),
    time: local.toPlainTime().toString({ smallestUnit: 'minute' }),
  };
}

/**
 * The instant of a local time. One that the zone skips is later by the length of the gap; of one that comes twice it is the
 * first (`compatible` of Temporal).
 */
export const instantOf = ({ date, time }: LocalTime, zone: string): Date =>
  new Date(Temporal.PlainDateTime.from(`${date}T${time}`).toZonedDateTime(zone).epochMilliseconds);

/** The date so many days later. */
export const daysAfter = (date: string, days: number): string =>
  Temporal.PlainDate.from(date).add({ days }).toString();

/** 1 for Monday to 7 for Sunday (ISO 8601). */
export const weekdayOf = (date: string): number => Temporal.PlainDate.from(date).dayOfWeek;
