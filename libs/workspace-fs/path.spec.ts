import fc from 'fast-check';
import { normalizePath, workspacePath } from './path.js';
import { quotePath } from './quote-path.js';

describe('normalizePath', () => {
  it.each([
    ['', ''],
    ['.', ''],
    ['/', ''],
    ['./', ''],
    ['/a', 'a'],
    ['./a/./b', 'a/b'],
    ['a//b/', 'a/b'],
    ['/workspace/a', 'workspace/a'],
    ['...', '...'],
    ['a\\b', 'a\\b'],
    ['.atelier-tmp-x', '.atelier-tmp-x'],
    [' a\nb', ' a\nb'],
    ['é/\u{1f600}', 'é/\u{1f600}'],
  ])('takes %j as %j', (input, expected) => {
    expect(normalizePath(input)).toBe(expected);
  });

  it.each([
    ['..', '".."'],
    ['a/../b', '".."'],
    ['/a/..', '".."'],
    ['a\0b', 'NUL'],
    ['a\ud800', 'surrogate'],
    ['x'.repeat(256), '255 bytes'],
    ['é'.repeat(128), '255 bytes'],
    [`${'x'.repeat(250)}/`.repeat(17), '4096 bytes'],
    ['a/'.repeat(101), '100 folders'],
    ['a/.atelier-tmp-000000000001-000000000000000000000000', 'reserved'],
  ])('refuses %j', (input, reason) => {
    expect(() => normalizePath(input)).toThrow(expect.objectContaining({ code: 'invalid_path' }));
    expect(() => normalizePath(input)).toThrow(reason);
  });

  it.each([
    ['', ''],
    ['/', ''],
    ['/workspace', ''],
    ['/workspace/', ''],
    ['/workspace/a//b', 'a/b'],
    ['/workspace/workspace/a', 'workspace/a'],
    ['workspace/a', 'workspace/a'],
  ])('takes the path %j in a workspace as %j', (input, expected) => {
    expect(workspacePath(input)).toBe(expected);
  });

  it.each([
    ['/etc/passwd', '"/etc/passwd" lies outside the workspace, which is /workspace'],
    ['/workspaces/a', 'outside'],
    ['//workspace/a', 'outside'],
    ['/workspace/../etc', '".."'],
  ])('refuses %j in a workspace', (input, reason) => {
    expect(() => workspacePath(input)).toThrow(expect.objectContaining({ code: 'invalid_path' }));
    expect(() => workspacePath(input)).toThrow(reason);
  });

  it('takes what is just within the limits', () => {
    expect(normalizePath('x'.repeat(255))).toHaveLength(255);
    expect(normalizePath('a/'.repeat(100))).toHaveLength(199);
  });

  it('is stable, relative and free of dots, whatever comes in', () => {
    const input = fc.array(fc.constantFrom('a', '.', '..', '/', '\\', 'é', '\u202e', '\ud800', ' '));
    fc.assert(
      fc.property(input, parts => {
        let path: string;
        try {
          path = normalizePath(parts.join(''));
        } catch {
          return;
        }
        expect(normalizePath(path)).toBe(path);
        expect(path.split('/')).not.toContain('..');
        expect(path.startsWith('/')).toBe(false);
      }),
      { seed: 1 },
    );
  });
});

describe('quotePath', () => {
  it('escapes what could forge a line or turn a sentence around', () => {
    expect(quotePath('a\nb\u202e"')).toBe('"a\\u{a}b\\u{202e}\\""');
  });

  it('shortens long paths in the middle', () => {
    expect(quotePath('x'.repeat(4000)).length).toBeLessThan(250);
  });
});
