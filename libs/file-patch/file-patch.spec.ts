import { describe, expect, it } from '@jest/globals';
import { applyHunks, HunkMismatch, PatchError, parsePatch } from './index.js';

const envelope = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');

/** What becomes of `text` by the first file of a patch. */
async function patched(text: string, patch: string): Promise<string> {
  const [file] = parsePatch(patch);
  if (file?.kind !== 'update') throw new Error('it updates nothing');
  return (await applyHunks(text, file.hunks)).text;
}
const update = (text: string, ...lines: string[]) => patched(text, envelope('*** Update File: a', ...lines));

describe('the format of apply_patch', () => {
  it('says what becomes of each file', () => {
    const files = parsePatch(
      envelope(
        '*** Add File: new/a.txt',
        '+one',
        '+',
        '+two',
        '*** Delete File: old.txt',
        '*** Update File: src/x.ts',
        '*** Move to: src/y.ts',
        '@@ class Heron',
        '@@   wade()',
        ' kept',
        '-gone',
        '+come',
        '',
        '*** End of File',
      ),
    );
    expect(files).toEqual([
      { kind: 'add', path: 'new/a.txt', line: 2, text: 'one\n\ntwo\n' },
      { kind: 'delete', path: 'old.txt', line: 6 },
      {
        kind: 'update',
        path: 'src/x.ts',
        line: 7,
        to: 'src/y.ts',
        hunks: [
          {
            number: 1,
            line: 9,
            anchors: ['class Heron', '  wade()'],
            isAtEnd: true,
            lines: [
              { sign: ' ', text: 'kept' },
              { sign: '-', text: 'gone' },
              { sign: '+', text: 'come' },
              { sign: ' ', text: '' },
            ],
          },
        ],
      },
    ]);
  });

  it('may be in a fence or a here-document, and end in CR LF', () => {
    const plain = envelope('*** Add File: a', '+x');
    for (const patch of [
      `\`\`\`diff\n${plain}\n\`\`\`\n`,
      `apply_patch <<'EOF'\n${plain}\nEOF`,
      plain.replaceAll('\n', '\r\n'),
    ])
      expect(parsePatch(patch)).toEqual([expect.objectContaining({ kind: 'add', path: 'a', text: 'x\n' })]);
  });

  it.each([
    ['nothing', '', /must begin with "\*\*\* Begin Patch"/],
    ['no end', '*** Begin Patch\n*** Add File: a\n+x', /does not end with/],
    ['no files', envelope(), /changes no file/],
    ['an odd header', envelope('*** Rename File: a'), /Line 2 of the patch must be/],
    ['an update of nothing', envelope('*** Update File: a'), /has no lines/],
    ['a hunk that changes nothing', envelope('*** Update File: a', '@@', ' x'), /Hunk 1 of "a" \(line 3/],
    [
      'a line without its sign',
      envelope('*** Update File: a', '-x', 'y'),
      /Line 4 .* must begin with a space/,
    ],
    ['a new file without plus', envelope('*** Add File: a', 'x'), /Line 3 .* must begin with "\+"/],
    [
      'too many files',
      envelope(...Array.from({ length: 101 }, (_, n) => `*** Delete File: ${n}`)),
      /101 files/,
    ],
  ])('is refused with the line that is wrong: %s', (_, patch, message) => {
    expect(() => parsePatch(patch)).toThrow(PatchError);
    expect(() => parsePatch(patch)).toThrow(message);
  });

  it('is read in time that grows with its length', () => {
    const long = 400_000;
    for (const text of [
      '\n'.repeat(long),
      ' '.repeat(long),
      `*** Begin Patch\n*** Update File: a\n${'\n'.repeat(long)}`,
      `*** Begin Patch\n*** Update File: a\n-x\n${' \n'.repeat(long)}*`,
      `*** Begin Patch\n*** Update File: a\n${'@@ a\n'.repeat(long / 5)}`,
    ])
      expect(() => parsePatch(text)).toThrow(PatchError);
  });
});

describe('hunks', () => {
  it('replace lines, one after the other', async () => {
    expect(await update('a\nb\nc\nb\nd\n', ' a', '-b', '+B', '@@', '-b', '+2')).toBe('a\nB\nc\n2\nd\n');
  });

  it('are found after their anchors', async () => {
    const text = 'class A\n  x = 1\nclass B\n  x = 1\n';
    expect(await update(text, '@@ class B', '-  x = 1', '+  x = 2')).toBe(
      'class A\n  x = 1\nclass B\n  x = 2\n',
    );
    expect(await update(text, '@@ class A', '+  y = 0')).toBe(
      'class A\n  y = 0\n  x = 1\nclass B\n  x = 1\n',
    );
  });

  it('of new lines alone go to the end', async () => {
    expect(await update('a\n', '+b')).toBe('a\nb\n');
    expect(await update('a', '+b')).toBe('a\nb\n');
    expect(await update('', '+b')).toBe('b\n');
  });

  it('at the end of the file are looked for there first', async () => {
    expect(await update('x\ny\nx\n', '-x', '+z', '*** End of File')).toBe('x\ny\nz\n');
  });

  it('fit also where white space, quotes or dashes differ, and what stays is kept as it is', async () => {
    const text = '\tif (a) {\t\n\t\tsay(“hi – you”);\n\t}\n';
    expect(await update(text, ' if (a) {', '-  say("hi - you");', '+\t\tbye();', ' }')).toBe(
      '\tif (a) {\t\n\t\tbye();\n\t}\n',
    );
    const [file] = parsePatch(envelope('*** Update File: a', '-a', '+b'));
    const hunks = file?.kind === 'update' ? file.hunks : [];
    expect((await applyHunks('  a\n', hunks)).inexact).toEqual([
      { hunk: 1, but: 'white space at the beginning or the end of lines' },
    ]);
    expect((await applyHunks('x\na\n', hunks)).changes).toEqual([{ line: 1, lines: ['x', 'b'] }]);
  });

  it('keep the line ends of the file, and its missing last one', async () => {
    expect(await update('a\r\nb\r\n', ' a', '-b', '+c', '+d')).toBe('a\r\nc\r\nd\r\n');
    expect(await update('a\nb\nc', '-a', '+A')).toBe('A\nb\nc');
  });

  it('may have one blank line too many at their end', async () => {
    expect(await update('a\nb\n', '-a', '+c', '', '@@', '-b', '+d')).toBe('c\nd\n');
  });

  it.each([
    ['lines that are not there', ['-x', '+y'], 1, /not in the file/],
    ['an anchor that is not there', ['@@ class X', '-a', '+b'], 1, /no line "class X"/],
    ['the same lines twice', ['-a', '+1', '@@', ' a', '-b', '+2'], 2, /same lines as hunk 1/],
  ])('that do not fit are refused: %s', async (_, lines, number, message) => {
    const error = await update('a\nb\n', ...lines).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HunkMismatch);
    expect((error as HunkMismatch).hunk.number).toBe(number);
    expect((error as HunkMismatch).message).toMatch(message);
  });

  it('are found in time that grows with the text, whatever it repeats', async () => {
    const text = `${'a\n'.repeat(200_000)}b\n`;
    const hunk = [...Array.from({ length: 20_000 }, () => '-a'), '-b', '+c'];
    expect(await update(text, ...hunk)).toBe(`${'a\n'.repeat(180_000)}c\n`);
  });
});

describe('a unified diff', () => {
  const git = `diff --git a/src/a.ts b/src/a.ts
index 83db48f..bf269f4 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,3 @@ function f() {
 one
-two
+TWO
 three
`;

  it('is applied where it says, or near', async () => {
    expect(await patched('one\ntwo\nthree\n', git)).toBe('one\nTWO\nthree\n');
    const twice = 'one\ntwo\nthree\nx\none\ntwo\nthree\n';
    expect(await patched(twice, git)).toBe('one\nTWO\nthree\nx\none\ntwo\nthree\n');
    expect(await patched(twice, git.replace('-1,3 +1,3', '-6,3 +6,3'))).toBe(
      'one\ntwo\nthree\nx\none\nTWO\nthree\n',
    );
  });

  it('says of each file what becomes of it', () => {
    const files = parsePatch(`--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+one
+two
\\ No newline at end of file
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/x.txt b/y.txt
similarity index 100%
rename from x.txt
rename to y.txt
--- plain.txt\t2026-11-21
+++ plain.txt\t2026-11-22
@@ -1 +1 @@
-- a
++ b
`);
    expect(files).toMatchObject([
      { kind: 'add', path: 'new.txt', text: 'one\ntwo' },
      { kind: 'delete', path: 'old.txt' },
      { kind: 'update', path: 'x.txt', to: 'y.txt', hunks: [] },
      {
        kind: 'update',
        path: 'plain.txt',
        hunks: [
          {
            lines: [
              { sign: '-', text: '- a' },
              { sign: '+', text: '+ b' },
            ],
          },
        ],
      },
    ]);
  });

  it('may be badly counted', async () => {
    expect(await patched('one\ntwo\nthree\n', git.replace('-1,3 +1,3', '-1,9 +1,1'))).toBe(
      'one\nTWO\nthree\n',
    );
  });

  it('gives or takes the last line end', async () => {
    const head = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n';
    expect(await patched('a', `${head}-a\n\\ No newline at end of file\n+a\n`)).toBe('a\n');
    expect(await patched('a\n', `${head}-a\n+a\n\\ No newline at end of file\n`)).toBe('a');
  });

  it.each([
    ['of a binary file', 'diff --git a/x b/x\nBinary files a/x and b/x differ\n', /binary/],
    ['that names no file', 'rename from a\ndiff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n', /no "--- a\/path"/],
    ['that changes nothing', '--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n', /no line that begins/],
  ])('is refused %s', (_, patch, message) => {
    expect(() => parsePatch(patch)).toThrow(message);
  });
});
