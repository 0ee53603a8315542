import { expect, it } from '@jest/globals';
import { atOnce } from './at-once.js';

it('goes the long way for a while after something took long', async () => {
  const ways: string[] = [];
  const later = async () => ways.push('later');
  const spin = (ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end; );
    return ways.push('now');
  };
  await atOnce(() => spin(20), later);
  await atOnce(() => spin(0), later);
  expect(ways).toEqual(['now', 'later']);
});
