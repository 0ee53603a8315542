import { Glob } from './glob.js';

describe('Glob', () => {
  it.each([
    ['*.ts', 'src/deep/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['*', '.hidden', true],
    ['?.txt', 'é.txt', true],
    ['?.txt', '\u{1f600}.txt', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/b/a.ts', false],
    ['/src/*.ts', 'src/a.ts', true],
    ['./src/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/b/c/a.ts', true],
    ['**/test/**', 'a/test/b/c', true],
    ['**/test/**', 'a/tests/b', false],
    ['**/a/**/b', 'a/x/a/y/b', true],
    ['*.{ts,tsx}', 'a.tsx', true],
    ['{a,b}/{c,d}.md', 'b/c.md', true],
    ['[id].tsx', '[id].tsx', true],
    ['a.b', 'axb', false],
    ['{a', '{a', true],
    ['*a*b*', 'xaybz', true],
  ])('%s against %s: %s', (pattern, path, expected) => {
    expect(new Glob(pattern).matches(path)).toBe(expected);
  });

  it('cannot be made to take forever', () => {
    expect(new Glob(`${'*a'.repeat(100)}b`).matches('a'.repeat(4000))).toBe(false);
    expect(new Glob(`${'**/a/'.repeat(40)}b`).matches('a/'.repeat(90))).toBe(false);
    expect(new Glob('{a,b}'.repeat(40)).matches('a'.repeat(40))).toBe(false);
  });
});
