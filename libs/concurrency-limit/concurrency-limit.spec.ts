import { describe, expect, it } from '@jest/globals';
import { ConcurrencyLimit, LimitReached } from './concurrency-limit.js';
import { Semaphore } from './semaphore.js';

describe('a limit for each key', () => {
  it('lets so much run at once, and next who has waited longest', async () => {
    const limit = new ConcurrencyLimit(2, 'commands run', 20_000);
    const first = await limit.acquire({ key: 'a' });
    await limit.acquire({ key: 'a' });
    await limit.acquire({ key: 'b' });
    const order: number[] = [];
    const third = limit.acquire({ key: 'a' }).then(release => {
      order.push(3);
      return release;
    });
    const fourth = limit.acquire({ key: 'a' }).then(() => order.push(4));
    first();
    first();
    const release = await third;
    expect(order).toEqual([3]);
    release();
    await fourth;
    expect(order).toEqual([3, 4]);
  });

  it('refuses those who waited too long, and forgets those who left', async () => {
    const limit = new ConcurrencyLimit(1, 'commands run in this workspace', 30);
    const release = await limit.acquire();
    await expect(limit.acquire()).rejects.toThrow(
      new LimitReached('1 commands run in this workspace at once, and no more may; wait for one to end'),
    );
    const gone = new AbortController();
    const waiting = limit.acquire({ signal: gone.signal });
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    release();
    expect(await limit.run(async () => 'done')).toBe('done');
  });
});

describe('fair turns', () => {
  /** Lets everybody in line at once, and tells in which order they got their turns. */
  async function orderOf(max: number, ...line: [organization: string, person: string][]): Promise<string[]> {
    const limit = new ConcurrencyLimit(max);
    const order: string[] = [];
    const works = line.map(whose => {
      const work = async () => {
        order.push(whose.join(''));
        await new Promise(resolve => setImmediate(resolve));
      };
      return limit.run(work, { whose });
    });
    await Promise.all(works);
    return order;
  }

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
    const limit = new ConcurrencyLimit(1);
    const whose = ['a', '1'];
    const { promise: failure, reject: fail } = Promise.withResolvers<never>();
    const first = limit.run(() => failure, { whose });
    const leaving = new AbortController();
    const second = limit.run(async () => 'second', { whose, signal: leaving.signal });
    const third = limit.run(async () => 'third', { whose });
    leaving.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    fail(new Error('failed'));
    await expect(first).rejects.toThrow('failed');
    expect(await third).toBe('third');
  });
});

describe('a semaphore', () => {
  it('lets in the next in line where one leaves', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const order: number[] = [];
    const line = [1, 2].map(number => semaphore.acquire().then(() => order.push(number)));
    await new Promise(resolve => setImmediate(resolve));
    expect(order).toEqual([]);
    semaphore.release();
    await line[0];
    expect(order).toEqual([1]);
    semaphore.release();
    await line[1];
    expect(order).toEqual([1, 2]);
  });
});
