import { pause, readRetryAfter, retryDelayMs } from './backoff.js';

const POLICY = { attempts: 5, baseMs: 100, maxMs: 1_000 };
const LOWEST = () => 0;
const HIGHEST = () => 1;

describe('the wait before the next attempt', () => {
  it('lies anywhere below a bound that doubles up to the maximum', () => {
    const highest = [1, 2, 3, 4, 5, 60].map(attempt => retryDelayMs(attempt, POLICY, undefined, HIGHEST));
    expect(highest).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    expect(retryDelayMs(4, POLICY, undefined, LOWEST)).toBe(0);
  });

  it('is never shorter than the provider asks, within the maximum', () => {
    expect(retryDelayMs(1, POLICY, 300, LOWEST)).toBe(300);
    expect(retryDelayMs(4, POLICY, 300, HIGHEST)).toBe(400);
    expect(retryDelayMs(1, POLICY, 3_600_000, HIGHEST)).toBe(1_000);
  });

  it('ends early when the signal aborts', async () => {
    const stop = new AbortController();
    const waiting = pause(3_600_000, stop.signal);
    stop.abort();
    await waiting;
    await pause(3_600_000, stop.signal);
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-11-21T10:00:00Z');

  it.each<[string, Record<string, string>, number | undefined]>([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['fractions of a second', { 'retry-after': '0.5' }, 500],
    ['an HTTP date', { 'retry-after': 'Sat, 21 Nov 2026 10:00:30 GMT' }, 30_000],
    ['a date in the past', { 'retry-after': 'Sat, 21 Nov 2026 09:00:00 GMT' }, 0],
    ['milliseconds, which go first', { 'retry-after': '7', 'retry-after-ms': '250' }, 250],
    ['nonsense', { 'retry-after': 'soon', 'retry-after-ms': '-4' }, undefined],
    ['nothing', {}, undefined],
  ])('is read from %s', (_name, headers, expected) => {
    expect(readRetryAfter(headers, now)).toBe(expected);
  });
});
