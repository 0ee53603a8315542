import { expect, it } from '@jest/globals';
import type { LoopRow } from '../records/index.js';
import { endOf, leftOf, withoutProgress } from './next-step.js';

const found = (number: number, unmet: string[] | null, files_digest = 'a') => ({
  number,
  unmet,
  files_digest,
});
const loop = (fields: Partial<LoopRow>): LoopRow =>
  ({
    iteration: 1,
    max_iterations: 5,
    stall_after: 2,
    resumed_after: 0,
    budget: {},
    spent_usd: 0,
    spent_seconds: 0,
    ...fields,
  }) as LoopRow;

it('counts iterations that found the same unmet in the same files', () => {
  expect(withoutProgress([], 0)).toBe(0);
  expect(withoutProgress([found(1, ['c1'])], 0)).toBe(0);
  expect(withoutProgress([found(1, ['c1']), found(2, ['c1']), found(3, ['c1'])], 0)).toBe(2);
  expect(withoutProgress([found(1, ['c1']), found(2, ['c1']), found(3, ['c1'], 'b')], 0)).toBe(0);
  expect(withoutProgress([found(1, ['c1', 'c2']), found(2, ['c1'])], 0)).toBe(0);
});

it('forgets what was before it was resumed, and what was not graded', () => {
  const iterations = [found(1, ['c1']), found(2, ['c1']), found(3, ['c1'])];
  expect(withoutProgress(iterations, 2)).toBe(0);
  expect(withoutProgress([found(1, ['c1']), found(2, null), found(3, ['c1'])], 0)).toBe(1);
});

it('ends a loop that stands still, is used up, or has spent its budget', () => {
  const same = [found(1, ['c1']), found(2, ['c1']), found(3, ['c1'])];
  expect(endOf(loop({ iteration: 3 }), same)?.outcome).toBe('stalled');
  expect(endOf(loop({ iteration: 5 }), [])?.outcome).toBe('exhausted');
  expect(endOf(loop({ budget: { cost_usd: 1 }, spent_usd: 1 }), [])?.outcome).toBe('budget');
  expect(endOf(loop({ budget: { max_seconds: 60 }, spent_seconds: 59.5 }), [])?.outcome).toBe('budget');
  expect(endOf(loop({ budget: { cost_usd: 1 }, spent_usd: 0.9 }), [])).toBeUndefined();
});

it('tells what is left, and nothing where nothing limits it', () => {
  expect(leftOf(loop({}))).toEqual({});
  expect(leftOf(loop({ budget: { cost_usd: 2, max_seconds: 10 }, spent_usd: 3, spent_seconds: 4 }))).toEqual({
    usd: 0,
    seconds: 6,
  });
});
