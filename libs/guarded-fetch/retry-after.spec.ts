import { expect, it } from '@jest/globals';
import { retryAfterMs } from './retry-after.js';

const NOW = Date.parse('1994-11-06T08:49:00Z');

it.each([
  ['120', 120_000],
  ['0', 0],
  ['9'.repeat(400), Number.POSITIVE_INFINITY],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
  ['Sun Nov  6 08:49:37 1994', 37_000],
  ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
  ['Sun, 66 Nov 1994 08:49:37 GMT', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['soon', undefined],
  ['', undefined],
])('%s', (value, expected) => {
  expect(retryAfterMs(new Headers({ 'retry-after': value }), NOW)).toBe(expected);
});

it('is nothing where the answer has no such header', () => {
  expect(retryAfterMs(new Headers())).toBeUndefined();
});
