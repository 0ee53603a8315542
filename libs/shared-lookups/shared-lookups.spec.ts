import { describe, expect, it } from '@jest/globals';
import { SharedLookups } from './shared-lookups.js';

/** Look-ups that end when the test says so; each tells its number. */
class Slow {
  readonly begun: PromiseWithResolvers<number>[] = [];
  look = (): Promise<number> => {
    const lookup = Promise.withResolvers<number>();
    this.begun.push(lookup);
    return lookup.promise;
  };
  end(number: number): void {
    this.begun[number]?.resolve(number);
  }
}

describe('a look-up that is shared', () => {
  it('gives who comes while it is under way the next one, and all of them the same', async () => {
    const shared = new SharedLookups<number>();
    const slow = new Slow();
    const first = shared.get('a', slow.look);
    const late = [shared.get('a', slow.look), shared.get('a', slow.look)];
    expect(slow.begun).toHaveLength(1);
    slow.end(0);
    expect(await first).toBe(0);
    expect(slow.begun).toHaveLength(2);
    slow.end(1);
    expect(await Promise.all(late)).toEqual([1, 1]);
  });

  it('is made anew for who comes after it has ended, and for another key', async () => {
    const shared = new SharedLookups<number>();
    const slow = new Slow();
    const other = shared.get('b', slow.look);
    slow.end(0);
    await other;
    const again = shared.get('b', slow.look);
    const beside = shared.get('a', slow.look);
    slow.end(1);
    slow.end(2);
    expect(await Promise.all([again, beside])).toEqual([1, 2]);
  });

  it('fails for those who shared it, and not for those who come later', async () => {
    const shared = new SharedLookups<number>();
    const failing = () => Promise.reject(new Error('no database'));
    const first = shared.get('a', failing);
    const late = shared.get('a', async () => 1);
    await expect(first).rejects.toThrow('no database');
    expect(await late).toBe(1);
    expect(await shared.get('a', async () => 2)).toBe(2);
  });
});
