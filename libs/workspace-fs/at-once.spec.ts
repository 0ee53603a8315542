import { expect, it } from '@jest/globals';
import { atOnce } from './at-once.js';

function spin(ms: number): 'now' {
  for (const end = performance.now() + ms; performance.now() < end; );
  return 'now';
}

it('does a thing at once, and goes the long way for a while after waiting again and again', async () => {
  const later = async () => 'later' as const;
  expect(await atOnce(() => spin(0), later)).toBe('now');
  for (let waits = 0; waits < 5; waits++) await atOnce(() => spin(10), later);
  expect(await atOnce(() => spin(0), later)).toBe('later');
});
