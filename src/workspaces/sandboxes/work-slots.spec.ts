import { expect, it } from '@jest/globals';
import { WorkSlots } from './work-slots.js';

it('gives so many places for each key, and each that is given back to who has waited longest', async () => {
  const slots = new WorkSlots(2, 'commands run', 20_000);
  const first = await slots.acquire('a');
  await slots.acquire('a');
  await slots.acquire('b');
  const order: number[] = [];
  const third = slots.acquire('a').then(release => {
    order.push(3);
    return release;
  });
  const fourth = slots.acquire('a').then(() => order.push(4));
  first();
  first();
  const release = await third;
  expect(order).toEqual([3]);
  release();
  await fourth;
  expect(order).toEqual([3, 4]);
});

it('refuses those who waited too long, and forgets those who went', async () => {
  const slots = new WorkSlots(1, 'commands run in this workspace', 30);
  const release = await slots.acquire('a');
  await expect(slots.acquire('a')).rejects.toMatchObject({
    status: 429,
    detail: '1 commands run in this workspace at once, and no more may; wait for one to end',
  });
  const gone = new AbortController();
  const waiting = slots.acquire('a', gone.signal);
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  release();
  expect(await slots.use('a', async () => 'done')).toBe('done');
});
