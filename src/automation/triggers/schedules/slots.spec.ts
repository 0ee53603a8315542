import { describe, expect, it } from '@jest/globals';
import type { ScheduleTrigger } from '../../automation/index.js';
import { dueSlots, jitterMs } from './slots.js';

const schedule = (fields: Partial<ScheduleTrigger>): ScheduleTrigger => ({
  kind: 'schedule',
  cron: '0 * * * *',
  at: null,
  timezone: 'UTC',
  missed: 'once',
  catchUpSeconds: 86_400,
  jitterSeconds: 0,
  ...fields,
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
