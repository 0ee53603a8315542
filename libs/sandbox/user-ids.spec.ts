import { describe, expect, it } from '@jest/globals';
import { chooseBase, lastMappedUid, MIN_UID } from './user-ids.js';

describe('where user ids of sandboxes begin', () => {
  it('differs between installations', () => {
    const bases = Array.from({ length: 20 }, () => chooseBase(2 ** 32 - 2));
    expect(new Set(bases).size).toBe(bases.length);
    for (const base of bases) {
      expect(base).toBeGreaterThanOrEqual(0x7000_0000);
      expect(base + 1_000_000).toBeLessThanOrEqual(0x7fff_ffff);
    }
  });

  it('stays within what a container has', () => {
    expect(chooseBase(999_999_999)).toBeLessThan(999_000_000);
    expect(chooseBase(65_535)).toBe(MIN_UID);
  });

  it.each([
    ['         0          0 4294967295\n', 4_294_967_294],
    ['0 100000 65536\n', 65_535],
    ['0 1000 1\n1 100000 65536\n', 65_536],
    ['0 1000 1\n5 100000 65536\n', 0],
  ])('reads %j', (map, last) => {
    expect(lastMappedUid(map)).toBe(last);
  });
});
