import { describe, expect, it } from '@jest/globals';
import { daysAfter, instantOf, isTimeZone, localTimeOf, weekdayOf } from './zoned-time.js';

const at = (date: string, time: string, zone: string) => instantOf({ date, time }, zone).toISOString();

describe('the instant of a local time', () => {
  it.each([
    ['on a summer day', '2026-07-01', '08:00', 'Europe/Berlin', '2026-07-01T06:00:00.000Z'],
    ['on a winter day', '2026-12-01', '08:00', 'Europe/Berlin', '2026-12-01T07:00:00.000Z'],
    [
      'that is skipped, is later by the gap',
      '2026-03-29',
      '02:30',
      'Europe/Berlin',
      '2026-03-29T01:30:00.000Z',
    ],
    ['that comes twice, is the first', '2026-10-25', '02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['after one that comes twice', '2026-10-25', '03:00', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'],
    ['in a gap of half an hour', '2026-10-04', '02:15', 'Australia/Lord_Howe', '2026-10-03T15:45:00.000Z'],
    ['at a midnight that is skipped', '2026-09-06', '00:00', 'America/Santiago', '2026-09-06T04:00:00.000Z'],
    ['of a day that a zone left out', '2011-12-31', '00:00', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
  ])('%s', (_, date, time, zone, instant) => {
    expect(at(date, time, zone)).toBe(instant);
  });
});

it('an instant has a date and a time in each zone', () => {
  const instant = new Date('2026-12-31T23:30:00Z');
  expect(localTimeOf(instant, 'Europe/Berlin')).toEqual({ date: '2027-01-01', time: '00:30' });
  expect(localTimeOf(instant, 'America/New_York')).toEqual({ date: '2026-12-31', time: '18:30' });
});

it('dates follow each other, on the days of a week', () => {
  expect(daysAfter('2028-02-28', 2)).toBe('2028-03-01');
  expect(['2026-11-22', '2026-11-23'].map(weekdayOf)).toEqual([7, 1]);
});

it.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Mars/Olympus', false],
  ['+01:00', false],
  ['PST', false],
  ['bst', false],
  ['EST', true],
  ['CET', true],
  ['', false],
])('%p is a time zone: %p', (zone, is) => {
  expect(isTimeZone(zone)).toBe(is);
});
