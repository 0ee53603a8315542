import { expect, it } from '@jest/globals';
import { lineDiff } from './line-diff.js';

it('says what was replaced, with the lines around it', () => {
  const lines = Array.from({ length: 12 }, (_, n) => `line ${n + 1}`);
  const changed = lines.with(5, 'other');
  expect(lineDiff(`${lines.join('\n')}\n`, `${changed.join('\n')}\n`)).toBe(
    '@@ -3,7 +3,7 @@\n line 3\n line 4\n line 5\n-line 6\n+other\n line 7\n line 8\n line 9\n',
  );
});

it('gives each far change a part of its own', () => {
  const lines = Array.from({ length: 30 }, (_, n) => `${n + 1}`);
  const changed = lines.with(0, 'x').toSpliced(29, 0, 'y');
  const diff = lineDiff(lines.join('\n'), changed.join('\n'));
  expect(diff.match(/^@@.*@@$/gm)).toEqual(['@@ -1,4 +1,4 @@', '@@ -27,4 +27,5 @@']);
});

it('is empty for the same text, and knows texts without a line', () => {
  expect(lineDiff('a\n', 'a\n')).toBe('');
  expect(lineDiff('', 'a\nb\n')).toBe('@@ -0,0 +1,2 @@\n+a\n+b\n');
  expect(lineDiff('a\n', '')).toBe('@@ -1,1 +0,0 @@\n-a\n');
});

it('of large texts that share nothing, all is replaced', () => {
  const text = (word: string) => Array.from({ length: 3000 }, (_, n) => `${word} ${n}`).join('\n');
  expect(lineDiff(text('a'), text('b')).match(/^[-+][ab]/gm)).toHaveLength(6000);
});
