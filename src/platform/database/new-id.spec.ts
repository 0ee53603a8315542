import { afterEach, expect, it, jest } from '@jest/globals';
import { validate, version } from 'uuid';
import { newId } from './new-id.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it('makes ids of version 7 that differ and sort by the time they were made', () => {
  const ids = Array.from({ length: 20_000 }, newId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every(id => validate(id) && version(id) === 7)).toBe(true);
  expect(ids.toSorted()).toEqual(ids);
});

it('keeps their order where the clock stands still or goes back', () => {
  const ms = (id: string) => Number.parseInt(id.replace('-', '').slice(0, 12), 16);
  // Ids may be ahead of the clock already.
  const now = Math.max(Date.now(), ms(newId())) + 60_000;
  const clock = jest.spyOn(Date, 'now').mockReturnValue(now);
  const before = Array.from({ length: 100 }, newId);
  clock.mockReturnValue(now - 5_000);
  const ids = [...before, ...Array.from({ length: 100 }, newId)];
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids.map(ms))).toEqual(new Set([now]));
});

it('has nothing in common that is random', () => {
  const tails = Array.from({ length: 1_000 }, () => newId().slice(-12));
  expect(new Set(tails).size).toBe(tails.length);
});
