import { describe, expect, it } from '@jest/globals';
import { READ_ONLY_TOOLS, readSubagent } from './definitions.js';

/** The agent of a file that must be usable. */
function agentOf(path: string, text: string) {
  const { value, findings } = readSubagent(path, text);
  if (!value) throw new Error(JSON.stringify(findings));
  return value;
}

const errorsOf = (text: string) =>
  readSubagent('a.md', text).findings.filter(({ severity }) => severity === 'error');

const file = (...lines: string[]) => ['---', ...lines, '---', 'Do it well.', ''].join('\n');

describe('an agent file', () => {
  it('is front matter and instructions', () => {
    const text = file(
      'name: reviewer',
      'description: Reviews',
      'tools: [bash, "read_*"]',
      'model: a/b',
      'max_steps: 3',
    );
    expect(agentOf('other.md', text)).toEqual({
      name: 'reviewer',
      description: 'Reviews',
      tools: ['bash', 'read_*'],
      model: 'a/b',
      maxSteps: 3,
      instructions: 'Do it well.',
    });
  });

  it('is called as its file, reads only and has no limit, where it says nothing', () => {
    expect(agentOf('poet.md', 'Rhyme.')).toEqual({
      name: 'poet',
      description: '',
      tools: READ_ONLY_TOOLS,
      model: null,
      maxSteps: null,
      instructions: 'Rhyme.',
    });
  });

  it.each([
    ['empty front matter', '---\n---\nRhyme.'],
    ['Windows line ends', '---\r\ndescription: x\r\n---\r\nRhyme.'],
    ['front matter of comments', '---\n# nothing\n---\nRhyme.'],
    ['a byte order mark', '\uFEFF---\ndescription: x\n---\nRhyme.'],
    ['nothing set', '---\ntools:\nmodel:\nmax_steps:\n---\nRhyme.'],
  ])('may have %s', (_, text) => {
    expect(agentOf('poet.md', text)).toMatchObject({ tools: READ_ONLY_TOOLS, instructions: 'Rhyme.' });
  });

  it('is refused when its front matter is not closed, lest its limits go unread', () => {
    expect(errorsOf('---\ntools: []\nDo it.')).toMatchObject([
      { line: 1, message: expect.stringMatching(/not closed/) },
    ]);
  });

  it('keeps rules in its instructions that look like front matter', () => {
    expect(agentOf('a.md', `${file('name: a')}\n---\nMore.`).instructions).toBe('Do it well.\n\n---\nMore.');
  });

  it.each([
    ['a list', ['bash', 'read_file']],
    ['text with commas', 'bash, read_file'],
  ])('names tools as %s', (_, tools) => {
    expect(agentOf('a.md', file(`tools: ${JSON.stringify(tools)}`)).tools).toEqual(['bash', 'read_file']);
  });

  it('may have no tools at all', () => {
    expect(agentOf('a.md', file('tools: []')).tools).toEqual([]);
  });

  it.each([
    [/"tool" is not a known key.*tools/, 'tool: bash'],
    [/not valid YAML/, 'name: [unclosed'],
    [/must be lines of "key: value"/, '- a\n- b'],
    [/^name "a b" may hold/, 'name: a b'],
    [/^name must be text/, 'name: 7'],
    [/^tools must be a list of tool names/, 'tools: {bash: true}'],
    [/^tools must be a list of tool names/, 'tools: [1]'],
    [/^max_steps must be a whole number from 1/, 'max_steps: 0'],
    [/^max_steps must be a whole number from 1/, 'max_steps: many'],
    [/not valid YAML/, 'a: &a [x, x]\nb: *a'],
  ])('is refused with the reason %s', (reason, line) => {
    expect(errorsOf(file(line))).toMatchObject([{ file: 'a.md', message: expect.stringMatching(reason) }]);
  });

  it('tells the line of what is wrong, and what was probably meant', () => {
    expect(errorsOf(file('name: a', 'description: Does it', 'tols: [bash]', 'max_step: 3'))).toMatchObject([
      { line: 4, suggestion: 'Did you mean "tools"?' },
      { line: 5, suggestion: 'Did you mean "max_steps"?' },
    ]);
    expect(errorsOf(file('description: a: b'))).toMatchObject([{ line: 2 }]);
    expect(errorsOf(file('name: a', 'name: b'))).toMatchObject([{ line: 3 }]);
  });

  it('is warned of what keeps others from finding it', () => {
    expect(readSubagent('.agents/a.md', file('name: b')).findings).toMatchObject([
      { severity: 'warning', line: 2, suggestion: 'Call the file b.md' },
      { severity: 'warning', message: expect.stringMatching(/no description/) },
    ]);
  });

  it('is refused where its front matter is longer than it may be, which its instructions are not', () => {
    const long = file(`description: ${'x'.repeat(9000)}`);
    expect(errorsOf(long)).toMatchObject([
      { message: expect.stringContaining('at most 8192'), suggestion: 'Put what is long below it' },
    ]);
    expect(
      agentOf('a.md', file('description: short') + 'x'.repeat(9000)).instructions.length,
    ).toBeGreaterThan(9000);
  });
});
