import { expect, it } from '@jest/globals';
import { Findings, FrontMatter } from './index.js';

function read(text: string) {
  const findings = new Findings('a.md');
  return { matter: FrontMatter.read(text, findings), findings };
}

it('is fields with their lines, and a body', () => {
  const { matter, findings } = read('\uFEFF---\r\nname: " a "\r\nsteps: 3\r\nnone:\r\n---\r\n\r\nDo it.\n');
  expect([matter.text('name'), matter.value('steps'), matter.value('none')]).toEqual(['a', 3, undefined]);
  expect([matter.lineOf('steps'), matter.lineOf('other'), matter.body]).toEqual([3, null, 'Do it.']);
  expect(findings.all).toEqual([]);
});

it('is all body where there are no fields', () => {
  expect(read('One\n---\ntwo').matter.body).toBe('One\n---\ntwo');
});

it('reports keys that are not known, with what was meant', () => {
  const { matter, findings } = read('---\nnmae: a\n---\n');
  matter.expect(['name'], 'warn', (key, [known = '']) => `${known} for ${key}`);
  expect(findings.hasErrors).toBe(false);
  expect(findings.all).toEqual([
    {
      file: 'a.md',
      line: 2,
      severity: 'warning',
      message: '"nmae" is not a known key; there are name',
      suggestion: 'Did you mean "name for nmae"?',
    },
  ]);
});

it.each([
  ['---\nname: a\n', 1, /not closed/],
  ['---\na: 1\nb: [\n---\n', 3, /not valid YAML/],
  ['---\n- a\n---\n', 1, /must be lines/],
  [`---\na: ${'x'.repeat(9000)}\n---\n`, 1, /at most 8192/],
])('finds what is wrong with %j', (text, line, message) => {
  const { findings } = read(text);
  expect(findings.all).toMatchObject([{ severity: 'error', line, message: expect.stringMatching(message) }]);
});
