import { describe, expect, it } from '@jest/globals';
import { Turnstile } from './turnstile.js';

const never = new AbortController().signal;

describe('a turnstile', () => {
  it('lets so many through at once, and tells who has to wait', async () => {
    const turnstile = new Turnstile(2);
    const waited: string[] = [];
    const leave = await turnstile.enter('a', never, () => waited.push('first'));
    await turnstile.enter('a', never, () => waited.push('second'));
    const third = turnstile.enter('a', never, () => waited.push('third'));
    expect(waited).toEqual(['third']);
    leave();
    leave();
    const fourth = turnstile.enter('a', never, () => waited.push('fourth'));
    (await third)();
    await fourth;
    expect(waited).toEqual(['third', 'fourth']);
  });

  it('takes turns among groups', async () => {
    const turnstile = new Turnstile(1);
    const order: string[] = [];
    const come = async (group: string, name: string) => {
      const leave = await turnstile.enter(group, never);
      order.push(name);
      leave();
    };
    const leave = await turnstile.enter('busy', never);
    const all = [come('busy', 'b1'), come('busy', 'b2'), come('busy', 'b3'), come('calm', 'c1')];
    leave();
    await Promise.all(all);
    expect(order).toEqual(['b1', 'c1', 'b2', 'b3']);
  });

  it('forgets those who give up, and loses no place by it', async () => {
    const turnstile = new Turnstile(1);
    const leave = await turnstile.enter('a', never);
    const gaveUp = new AbortController();
    const first = turnstile.enter('a', gaveUp.signal);
    const second = turnstile.enter('a', never);
    gaveUp.abort();
    await expect(first).rejects.toMatchObject({ kind: 'aborted' });
    leave();
    (await second)();
    await turnstile.enter('b', never);
    await expect(turnstile.enter('a', gaveUp.signal)).rejects.toMatchObject({ kind: 'aborted' });
  });
});
