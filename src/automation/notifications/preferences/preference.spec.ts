import { describe, expect, it } from '@jest/globals';
import { DEFAULT_SCHEDULE, decide, nextDigest, type Preference, quietUntil } from './preference.js';

const HERE = 'an organization';
const prefer = (organization_id: string | null, type_or_category: string, mode: 'on' | 'off' | 'digest') =>
  ({ organization_id, type_or_category, channel: 'mail', mode }) satisfies Preference;
const about = { type: 'run.failed', organization_id: HERE } as const;

describe('what is preferred', () => {
  const said = [
    prefer(HERE, 'run.failed', 'off'),
    prefer(HERE, 'run', 'digest'),
    prefer(null, 'run.failed', 'on'),
    prefer(null, 'run', 'off'),
  ];

  it.each([
    ['organization_type', 0, 'off'],
    ['organization_category', 1, 'digest'],
    ['type', 2, 'on'],
    ['category', 3, 'off'],
    ['default', 4, 'off'],
  ])('is decided by %s, where nothing before it says anything', (decided_by, from, mode) => {
    expect(decide(said.slice(from), about, 'mail')).toEqual({ mode, decided_by });
  });

  it('in an organization says nothing of another, nor of what is in none', () => {
    const elsewhere = { ...about, organization_id: 'another' };
    expect(decide(said.slice(0, 2), elsewhere, 'mail').decided_by).toBe('default');
    expect(decide(said, { ...about, organization_id: null }, 'mail').decided_by).toBe('type');
  });

  it('of one channel says nothing of another', () => {
    expect(decide(said, about, 'in_app')).toEqual({ mode: 'on', decided_by: 'default' });
  });

  it('turns nothing off that is always on', () => {
    const off = { ...prefer(null, 'approval.requested', 'off'), channel: 'in_app' };
    const approval = { type: 'approval.requested', organization_id: null } as const;
    expect(decide([off], approval, 'in_app')).toEqual({ mode: 'on', decided_by: 'always' });
  });
});

const berlin = { ...DEFAULT_SCHEDULE, timezone: 'Europe/Berlin' };

describe('quiet hours', () => {
  const night = { ...berlin, quiet_from: '22:00', quiet_to: '07:00' };
  const noon = { ...berlin, quiet_from: '12:00', quiet_to: '13:00' };
  const end = (schedule: typeof night, now: string) => quietUntil(schedule, new Date(now))?.toISOString();

  it.each([
    ['before midnight', night, '2026-11-22T21:30:00Z', '2026-11-23T06:00:00.000Z'],
    ['after midnight', night, '2026-11-23T02:00:00Z', '2026-11-23T06:00:00.000Z'],
    ['by day', night, '2026-11-23T06:00:00Z', undefined],
    ['at noon', noon, '2026-11-22T11:30:00Z', '2026-11-22T12:00:00.000Z'],
    ['at their end', noon, '2026-11-22T12:00:00Z', undefined],
    ['in a night that is an hour shorter', night, '2026-03-28T23:00:00Z', '2026-03-29T05:00:00.000Z'],
    ['in a night that is an hour longer', night, '2026-10-24T22:00:00Z', '2026-10-25T06:00:00.000Z'],
  ])('%s', (_, schedule, now, until) => {
    expect(end(schedule, now)).toBe(until);
  });

  it('are none unless somebody says so', () => {
    expect(quietUntil(DEFAULT_SCHEDULE, new Date('2026-11-22T03:00:00Z'))).toBeUndefined();
  });
});

describe('the next digest', () => {
  it.each([
    [
      'is sent today, where its time is yet to come',
      '08:00',
      '2026-11-22T06:59:59Z',
      '2026-11-22T07:00:00.000Z',
    ],
    ['is sent tomorrow at its very time', '08:00', '2026-11-22T07:00:00Z', '2026-11-23T07:00:00.000Z'],
    ['is sent over midnight', '00:00', '2026-11-22T22:59:00Z', '2026-11-22T23:00:00.000Z'],
    ['is sent later by the gap', '02:30', '2026-03-28T12:00:00Z', '2026-03-29T01:30:00.000Z'],
    ['is sent once where its time comes twice', '02:30', '2026-10-25T00:30:00Z', '2026-10-26T01:30:00.000Z'],
  ])('%s', (_, digest_at, now, at) => {
    expect(nextDigest({ ...berlin, digest_at }, new Date(now)).toISOString()).toBe(at);
  });

  it('is sent on its days alone', () => {
    const fridays = { ...berlin, days: [5] };
    const next = nextDigest(fridays, new Date('2026-11-27T07:00:00Z'));
    expect(next.toISOString()).toBe('2026-12-04T07:00:00.000Z');
  });

  it('comes once a local day, through a whole year', () => {
    let now = new Date('2026-01-01T00:00:00Z');
    const dates: string[] = [];
    for (let count = 0; count < 365; count++) {
      now = nextDigest({ ...berlin, digest_at: '02:30' }, now);
      dates.push(now.toISOString().slice(0, 10));
    }
    expect(new Set(dates).size).toBe(365);
  });
});
