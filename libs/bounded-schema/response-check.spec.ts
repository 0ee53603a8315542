import { expect, it } from '@jest/globals';
import { ResponseCheck } from './response-check.js';

it('reads each answer once, and says what was wrong with it', async () => {
  const read: string[] = [];
  const check = new ResponseCheck({ type: 'object' }, async text => {
    read.push(text);
    return { faults: ['must be an object'] };
  });
  expect(check.instructions).toContain('{"type":"object"}');
  expect(await check.read('1')).toEqual({ faults: ['must be an object'] });
  await check.read('1');
  expect(read).toEqual(['1']);
  expect(check.correction('1')).toContain('- must be an object');
});
