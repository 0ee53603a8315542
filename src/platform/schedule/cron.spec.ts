import { describe, expect, it } from '@jest/globals';
import { CronSchedule, InvalidCron } from './cron.js';
import { byTheMinute, clockChanges, zonesThatChange } from './wall-clock.fixture.js';

const firings = (cron: string, zone: string, after: string, count: number) =>
  new CronSchedule(cron, zone).nextOf(new Date(after), count).map(at => at.toISOString().slice(0, 16));

describe('the instants of a schedule', () => {
  it.each([
    [
      'an ordinary day',
      '0 9 * * 1-5',
      'Europe/Berlin',
      '2026-01-02T12:00Z',
      ['2026-01-05T08:00', '2026-01-06T08:00'],
    ],
    [
      'a time that does not exist',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:30', '2026-03-30T00:30'],
    ],
    [
      'a time that comes twice',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'a gap of half an hour',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T12:00Z',
      ['2026-10-03T15:45', '2026-10-04T15:15'],
    ],
    [
      'a gap at midnight',
      '0 0 * * *',
      'Africa/Cairo',
      '2026-04-23T12:00Z',
      ['2026-04-23T22:00', '2026-04-24T21:00'],
    ],
    [
      'a gap at midnight in the south',
      '0 0 * * *',
      'America/Santiago',
      '2026-09-05T12:00Z',
      ['2026-09-06T04:00', '2026-09-07T03:00'],
    ],
    [
      'every hour through a gap',
      '@hourly',
      'Europe/Berlin',
      '2026-03-28T23:30Z',
      ['2026-03-29T00:00', '2026-03-29T01:00', '2026-03-29T02:00'],
    ],
    [
      'every hour through a repeated one',
      '0 * * * *',
      'Europe/Berlin',
      '2026-10-24T22:30Z',
      ['2026-10-24T23:00', '2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
    ],
    [
      'two times that become one instant',
      '0 2,3 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00', '2026-03-30T00:00'],
    ],
    [
      'times whose order is turned',
      '45 2,3 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:45', '2026-03-30T00:45'],
    ],
    [
      'a day that was left out',
      '0 12 * * *',
      'Pacific/Apia',
      '2011-12-29T12:00Z',
      ['2011-12-29T22:00', '2011-12-30T22:00', '2011-12-31T22:00'],
    ],
    ['a leap day', '0 0 29 2 *', 'UTC', '2026-01-01T00:00Z', ['2028-02-29T00:00', '2032-02-29T00:00']],
  ])('%s', (_, cron, zone, after, expected) => {
    expect(firings(cron, zone, after, expected.length)).toEqual(expected);
  });

  it('never come on 31 February', () => {
    expect(firings('0 0 31 2 *', 'UTC', '2026-01-01T00:00Z', 1)).toEqual([]);
  });

  it.each(['* * * *', '* * * * * *', '61 * * * *', 'every day', '', '@reboot'])('are not of %j', cron => {
    expect(() => new CronSchedule(cron, 'UTC')).toThrow(InvalidCron);
  });
});

describe('a stretch around the change of a zone', () => {
  const YEAR = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)] as const;
  const changesOf = (zone: string) => clockChanges(zone, ...YEAR);
  /** One zone for each set of rules. */
  const zones = zonesThatChange(...YEAR);

  it('is there', () => expect(zones.length).toBeGreaterThan(15));

  it.each(zones)('%s fires as the calendar says', zone => {
    for (const change of changesOf(zone)) {
      const [from, to] = [change - 86_400_000, change + 3 * 86_400_000];
      for (const [cron, minute, hours] of [
        ['30 0-4 * * *', 30, [0, 1, 2, 3, 4]],
        ['15 * * * *', 15, null],
        ['0 0,23 * * *', 0, [0, 23]],
      ] as const) {
        const schedule = new CronSchedule(cron, zone);
        const ours: number[] = [];
        for (let at = schedule.next(new Date(from - 1)); at && at.getTime() < to; at = schedule.next(at))
          ours.push(at.getTime());
        expect([cron, ours]).toEqual([cron, byTheMinute(minute, hours && [...hours], zone, from, to)]);
      }
    }
  });
});
