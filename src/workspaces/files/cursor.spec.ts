import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cursorAfter, pathOfCursor } from './files.service.js';

it('comes back as the path it was made of', () => {
  const paths = fc.string({ unit: 'grapheme' }).filter(path => path.isWellFormed() && !path.includes('\0'));
  fc.assert(
    fc.property(paths, path => pathOfCursor(cursorAfter(path)) === path),
    { seed: 1 },
  );
});

it('fits into an address, whatever the longest path is made of', () => {
  for (const character of ['\u0001', '"', 'x', '\u{10ffff}'])
    expect(cursorAfter(character.repeat(4096 / Buffer.byteLength(character))).length).toBeLessThanOrEqual(
      6000,
    );
});

it.each(['', 'Lw=', 'L w', 'x', 'YQ', '_w', 'LwA', 'L_8', '!'])('is refused when forged: "%s"', cursor => {
  expect(() => pathOfCursor(cursor)).toThrow(expect.objectContaining({ status: 422 }));
});

it('is absent on the first page', () => {
  expect(pathOfCursor(undefined)).toBeUndefined();
});
