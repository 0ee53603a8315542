import { expect, it } from '@jest/globals';
import { unifiedDiff } from './unified-diff.js';

const head = 'diff --git a/1 b/2\nindex 1..2 100644\n--- a/1\n+++ b/2\n';

it('counts lines by the line ends that git has, whatever else they hold', () => {
  const hunks = '@@ -1,2 +1,3 @@\n one\n-two\r-and\n+\u2028+three\n+\n+--four\r+\n';
  expect(unifiedDiff(head + hunks, 'a', 'b')).toEqual({
    diff: `--- a/a\n+++ b/b\n${hunks}`,
    binary: false,
    additions: 3,
    deletions: 1,
  });
});

it('takes a megabyte of the shortest lines', () => {
  const lines = 500_000;
  const hunks = `@@ -0,0 +1,${lines} @@\n${'+\n'.repeat(lines)}`;
  expect(unifiedDiff(head + hunks, null, 'b')).toMatchObject({ additions: lines, deletions: 0 });
});
