import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { GatheredWork, type GatherRules } from './gathered-work.js';

/** Calls, each of which goes on until it is told to. */
function gathered(rules: Partial<GatherRules<string>> = {}) {
  const calls: { key: string; items: readonly string[]; end: (error?: Error) => void }[] = [];
  const work = new GatheredWork<string, string>(
    (key, items) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) =>
          error ? reject(error) : resolve(items.map(item => `${key}: ${item}`));
        calls.push({ key, items, end });
      }),
    { maxItems: 3, ...rules },
  );
  const end = async (at: number, error?: Error) => {
    calls[at]?.end(error);
    await nextTurn();
  };
  return { work, calls, end, items: () => calls.map(call => call.items.join('')) };
}

it('does the first at once, and together what comes meanwhile, in order', async () => {
  const { work, end, items } = gathered();
  const results = ['a', 'b', 'c', 'd', 'e', 'f'].map(item => work.do('k', item));
  expect(items()).toEqual(['a']);
  await end(0);
  expect(items()).toEqual(['a', 'bcd']);
  await end(1);
  await end(2);
  expect(items()).toEqual(['a', 'bcd', 'ef']);
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'].map(item => `k: ${item}`));
});

it('keeps keys apart', () => {
  const { work, items } = gathered();
  void work.do('k', 'a');
  void work.do('l', 'b');
  void work.do('k', 'c');
  expect(items()).toEqual(['a', 'b']);
});

it('tells all of a call that failed, and goes on', async () => {
  const { work, end, items } = gathered();
  const results = ['a', 'b', 'c'].map(item => work.do('k', item).catch((error: Error) => error.message));
  await end(0, new Error('away'));
  results.push(work.do('k', 'd'));
  await end(1);
  await end(2);
  expect(await Promise.all(results)).toEqual(['away', 'k: b', 'k: c', 'k: d']);
  expect(items()).toEqual(['a', 'bc', 'd']);
  const later = work.do('k', 'e');
  await end(3);
  expect(await later).toBe('k: e');
});

it('does no more at once than fits', async () => {
  const { work, end, items } = gathered({ maxItems: 10, maxSize: 4, sizeOf: item => item.length });
  for (const item of ['x', 'aa', 'b', 'aaa', 'cc', 'dddddd']) void work.do('k', item);
  for (let at = 0; at < 5; at++) await end(at);
  expect(items()).toEqual(['x', 'aab', 'aaa', 'cc', 'dddddd']);
});

it('does together from the first what comes in one turn, where it is asked to', async () => {
  const { work, end, items } = gathered({ isAfterTurn: true });
  const results = ['a', 'b', 'c'].map(item => work.do('k', item));
  expect(items()).toEqual([]);
  await nextTurn();
  expect(items()).toEqual(['abc']);
  results.push(work.do('k', 'd'));
  await end(0);
  expect(items()).toEqual(['abc', 'd']);
  await end(1);
  expect(await Promise.all(results)).toEqual(['k: a', 'k: b', 'k: c', 'k: d']);
});
