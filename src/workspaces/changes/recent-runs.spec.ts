import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { COALESCE_MS } from './change.js';
import { RecentRuns } from './recent-runs.js';

/** A write may have begun so long before it is recorded. */
const KEPT_MS = 10 * COALESCE_MS;

let now = 0;
beforeEach(() => {
  now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => {
  jest.restoreAllMocks();
});

it('a run has recent changes until none of them can be merged into', () => {
  const runs = new RecentRuns();
  expect(runs.mayHave({ type: 'run', id: 'a' })).toBe(false);
  runs.note({ type: 'run', id: 'a' });
  now = KEPT_MS / 2;
  runs.note({ type: 'run', id: 'b' });
  expect(runs.mayHave({ type: 'run', id: 'a' })).toBe(true);
  now = KEPT_MS;
  expect(runs.mayHave({ type: 'run', id: 'a' })).toBe(false);
  expect(runs.mayHave({ type: 'run', id: 'b' })).toBe(true);
  runs.note({ type: 'run', id: 'b' });
  now = KEPT_MS * 1.8;
  expect(runs.mayHave({ type: 'run', id: 'b' })).toBe(true);
  now = KEPT_MS * 2;
  expect(runs.mayHave({ type: 'run', id: 'b' })).toBe(false);
});

it('other writers may have some that another process has recorded', () => {
  expect(new RecentRuns().mayHave({ type: 'user', id: 'a' })).toBe(true);
});
