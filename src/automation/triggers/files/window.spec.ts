import { describe, expect, it } from '@jest/globals';
import { type Chain, NO_CHAIN } from '../../../platform/access/index.js';
import { type MatchedChange, movedBy, type Window, widened } from './window.js';

const START = Date.parse('2026-11-24T12:00:00.000Z');
const MINUTE = 60_000;
const SETTLE = { settleSeconds: 5 };
const OWN = 'deployment';

const change = (id: number, afterMs = 0, chain: Chain = NO_CHAIN): MatchedChange => ({
  id,
  at: START + afterMs,
  chain,
});
const led = (...deployments: string[]): Chain => ({
  deployments,
  depth: deployments.length,
  untrusted: false,
});
const firesAfter = ({ fire_at }: Window): number => Date.parse(fire_at) - START;

describe('a window', () => {
  it('ends when nothing came for as long as the file says', () => {
    const first = widened(null, SETTLE, OWN, [change(1)]);
    expect([firesAfter(first), first.changes]).toEqual([
      5000,
      { ids: [1], total: 1, last: 1, chain: NO_CHAIN },
    ]);
    const second = widened(first, SETTLE, OWN, [change(2, 3000), change(3, 4000)]);
    expect(firesAfter(second)).toBe(9000);
    expect(second.changes).toMatchObject({ ids: [1, 2, 3], total: 3, last: 3 });
    expect(second.since).toBe(first.since);
  });

  it('is not put off by what happened before its end is due anyway', () => {
    const first = widened(null, SETTLE, OWN, [change(1, 4000)]);
    expect(firesAfter(widened(first, SETTLE, OWN, [change(2, 1000)]))).toBe(9000);
  });

  it('ends after five minutes, whatever comes', () => {
    let window = widened(null, SETTLE, OWN, [change(1)]);
    for (let n = 1; n < 200; n++) window = widened(window, SETTLE, OWN, [change(n + 1, n * 4000)]);
    expect(firesAfter(window)).toBe(5 * MINUTE);
  });

  it('lists a hundred changes, and counts the others', () => {
    const window = widened(
      widened(null, SETTLE, OWN, [change(1)]),
      SETTLE,
      OWN,
      Array.from({ length: 10_000 }, (_, n) => change(n + 2)),
    );
    expect(window.changes).toMatchObject({ total: 10_001, last: 10_001 });
    expect(window.changes?.ids).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  });

  it('keeps what the deployment led to itself, and what is too deep, from the others', () => {
    const window = widened(null, SETTLE, OWN, [
      change(1),
      change(2, 0, led('other', OWN)),
      change(3, 0, led('a', 'b', 'c', 'd')),
      change(4, 0, led('a', 'b')),
    ]);
    expect(window.changes).toMatchObject({ ids: [1, 4], chain: { deployments: ['a', 'b'], depth: 2 } });
    expect(window.own_change).toMatchObject({ ids: [2] });
    expect(window.depth).toMatchObject({ ids: [3] });
  });

  it('is as deep as the deepest change, however many led to it side by side', () => {
    const chains = ['a', 'b', 'c', 'd', 'e'].map((name, n) => change(n, 0, led(name)));
    const window = widened(null, SETTLE, OWN, [...chains, change(9, 0, { ...NO_CHAIN, untrusted: true })]);
    expect(window.changes?.chain).toEqual({
      deployments: ['a', 'b', 'c', 'd', 'e'],
      depth: 1,
      untrusted: true,
    });
  });

  it('is not put off once what was missed is to be told', () => {
    const reset: Window = { ...movedBy(null, 5, START), fire_at: new Date(START).toISOString(), reset: 7 };
    expect(firesAfter(widened(reset, SETTLE, OWN, [change(8, 1000)]))).toBe(0);
  });
});
