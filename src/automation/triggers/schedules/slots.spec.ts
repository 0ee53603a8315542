import { describe, expect, it } from '@jest/globals';
import { byTheMinute, zonesThatChange } from '../../../../test/harness/wall-clock.js';
import { nextFires, type ScheduleTrigger } from '../../automation/index.js';
import { dueSlots, jitterMs } from './slots.js';

const schedule = (fields: Partial<ScheduleTrigger>): ScheduleTrigger => ({
  ...{ kind: 'schedule', cron: '0 * * * *', at: null, timezone: 'UTC', missed: 'once' },
  ...{ catchUpSeconds: 86_400, jitterSeconds: 0, ...fields },
});
const at = (time: string) => new Date(`2026-03-10T${time}Z`);
const times = (slots: readonly Date[]) => slots.map(slot => slot.toISOString().slice(11, 16));

describe('slots that are due', () => {
  it('fire at their time', () => {
    const { fires, missed, next } = dueSlots(schedule({}), at('09:00'), at('09:00:01'));
    expect([times(fires), times(missed), next]).toEqual([['09:00'], [], at('10:00')]);
  });

  it.each([
    ['skip', [], ['09:00', '10:00', '11:00', '12:00']],
    ['once', ['12:00'], ['09:00', '10:00', '11:00']],
    ['all', ['09:00', '10:00', '11:00', '12:00'], []],
  ] as const)('after a time without service, with missed: %s', (missed, fired, skipped) => {
    const due = dueSlots(schedule({ missed }), at('09:00'), at('12:30'));
    expect([times(due.fires), times(due.missed)]).toEqual([fired, skipped]);
    expect(due.next).toEqual(at('13:00'));
  });

  it('fire the one that is due now, whatever was missed before', () => {
    const due = dueSlots(schedule({ missed: 'skip' }), at('09:00'), at('12:00:10'));
    expect([times(due.fires), times(due.missed)]).toEqual([['12:00'], ['09:00', '10:00', '11:00']]);
  });

  it('are caught up no longer than the file says', () => {
    const due = dueSlots(schedule({ missed: 'all', catchUpSeconds: 5400 }), at('09:00'), at('12:20'));
    expect(times(due.fires)).toEqual(['11:00', '12:00']);
    const none = dueSlots(schedule({ catchUpSeconds: 60 }), at('09:00'), at('12:20'));
    expect([times(none.fires), none.missed.length]).toEqual([[], 4]);
  });

  it('are at most 24 with missed: all', () => {
    const due = dueSlots(schedule({ cron: '* * * * *', missed: 'all' }), at('09:00'), at('10:00'));
    expect([due.fires.length, due.missed.length]).toEqual([24, 37]);
  });

  it('are the newest ones after a very long time', () => {
    const long = dueSlots(schedule({ cron: '* * * * *' }), new Date('2020-01-01T00:00Z'), at('09:00:30'));
    expect(times(long.fires)).toEqual(['09:00']);
    expect(long.missed.length).toBeGreaterThan(99);
    expect(long.missed.length).toBeLessThan(201);
  });

  it('of a single time are one', () => {
    const once = schedule({ cron: null, at: '2026-03-10T09:00' });
    expect(dueSlots(once, at('09:00'), at('09:00:01'))).toEqual({
      fires: [at('09:00')],
      missed: [],
      next: null,
    });
  });
});

it('jitter is the same each time, within its limit, and differs between triggers', () => {
  const spread = schedule({ jitterSeconds: 300 });
  const drawn = ['a', 'b', 'c', 'd'].map(id => jitterMs(spread, id));
  expect(drawn).toEqual(['a', 'b', 'c', 'd'].map(id => jitterMs(spread, id)));
  expect(new Set(drawn).size).toBe(4);
  for (const ms of drawn) expect(ms).toBeLessThanOrEqual(300_000);
  expect(jitterMs(schedule({}), 'a')).toBe(0);
});

describe.each([
  ['March', Date.UTC(2026, 2, 1), Date.UTC(2026, 3, 1)],
  ['October', Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 1)],
  ['November', Date.UTC(2026, 10, 1), Date.UTC(2026, 11, 1)],
])('a month whose clocks change: %s', (_, from, to) => {
  const zones = zonesThatChange(from, to);

  /** What fires while a clock goes on, a little late each time, and by an hour where nothing ran. */
  function fired(rules: ScheduleTrigger): number[] {
    const found: number[] = [];
    let [slot] = nextFires(rules, new Date(from - 1), 1);
    for (let tick = 1; slot && slot.getTime() < to; tick++) {
      const now = new Date(slot.getTime() + (tick % 20 === 0 ? 3_600_000 : (tick % 7) * 1_000));
      const due = dueSlots(rules, slot, now);
      expect(due.missed).toEqual([]);
      found.push(...due.fires.map(at => at.getTime()));
      expect(due.next?.getTime()).toBeGreaterThan(now.getTime());
      slot = due.next ?? undefined;
    }
    return found.filter(at => at < to);
  }

  it('has zones', () => expect(zones.length).toBeGreaterThan(1));

  it.each(zones)('%s fires as the calendar says, each slot once', zone => {
    for (const [cron, minute, hours] of [
      ['30 0-4 * * *', 30, [0, 1, 2, 3, 4]],
      ['15 * * * *', 15, null],
      ['0 0,2,23 * * *', 0, [0, 2, 23]],
    ] as const)
      expect([cron, fired(schedule({ cron, timezone: zone, missed: 'all' }))]).toEqual([
        cron,
        byTheMinute(minute, hours && [...hours], zone, from, to),
      ]);
  });
});
