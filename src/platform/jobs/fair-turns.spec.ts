import { describe, expect, it } from '@jest/globals';
import { FairTurns } from './fair-turns.js';

const never = new AbortController().signal;

/** Lets everybody in line at once, and tells in which order they got their turns. */
async function orderOf(atOnce: number, ...line: [organization: string, person: string][]): Promise<string[]> {
  const turns = new FairTurns(atOnce);
  const order: string[] = [];
  const works = line.map(([organizationId, personId]) =>
    turns.take({ organizationId, personId }, never, async () => {
      order.push(`${organizationId}${personId}`);
      await new Promise(resolve => setImmediate(resolve));
    }),
  );
  await Promise.all(works);
  return order;
}

describe('fair turns', () => {
  it('go round among organizations, whatever one of them has piled up', async () => {
    const many = Array.from({ length: 50 }, (): [string, string] => ['a', '1']);
    const order = await orderOf(2, ...many, ['b', '1'], ['c', '1']);
    expect(order.indexOf('b1')).toBeLessThan(4);
    expect(order.indexOf('c1')).toBeLessThan(4);
    expect(order).toHaveLength(52);
  });

  it('go round among the people of an organization, each in the order of their own', async () => {
    const order = await orderOf(1, ['a', '1'], ['a', '1'], ['a', '1'], ['a', '2'], ['a', '2'], ['b', '1']);
    expect(order).toEqual(['a1', 'b1', 'a2', 'a1', 'a2', 'a1']);
  });

  it('are given up by who is told to, and failed work frees its place', async () => {
    const turns = new FairTurns(1);
    const whose = { organizationId: 'a', personId: '1' };
    let fail = (_: Error) => {};
    const first = turns.take(
      whose,
      never,
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    const leaving = new AbortController();
    const second = turns.take(whose, leaving.signal, async () => 'second');
    const third = turns.take(whose, never, async () => 'third');
    leaving.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    fail(new Error('failed'));
    await expect(first).rejects.toThrow('failed');
    expect(await third).toBe('third');
  });
});
