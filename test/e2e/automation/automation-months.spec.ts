import { describe, expect, it } from '@jest/globals';
import { nextFires, type ScheduleTrigger } from '../../../src/automation/automation/index.js';
import { dueSlots } from '../../../src/automation/triggers/schedules/slots.js';
import { byTheMinute, zonesThatChange } from '../../../src/platform/schedule/wall-clock.fixture.js';

const DAILY: ScheduleTrigger = {
  kind: 'schedule',
  cron: '@daily',
  at: null,
  timezone: 'UTC',
  missed: 'all',
  catchUpSeconds: 86_400,
  jitterSeconds: 0,
};

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
      expect([cron, fired({ ...DAILY, cron, timezone: zone })]).toEqual([
        cron,
        byTheMinute(minute, hours && [...hours], zone, from, to),
      ]);
  });
});
