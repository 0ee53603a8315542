import { describe, expect, it } from '@jest/globals';
import { parseSubagent, READ_ONLY_TOOLS } from './subagent.js';

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
    expect(parseSubagent('other.md', text)).toEqual({
      name: 'reviewer',
      description: 'Reviews',
      tools: ['bash', 'read_*'],
      model: 'a/b',
      maxSteps: 3,
      instructions: 'Do it well.',
    });
  });

  it('is called as its file, reads only and has no limit, where it says nothing', () => {
    expect(parseSubagent('poet.md', 'Rhyme.')).toEqual({
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
    expect(parseSubagent('poet.md', text)).toMatchObject({ tools: READ_ONLY_TOOLS, instructions: 'Rhyme.' });
  });

  it('is refused when its front matter is not closed, lest its limits go unread', () => {
    expect(() => parseSubagent('a.md', '---\ntools: []\nDo it.')).toThrow(/not closed/);
  });

  it('keeps rules in its instructions that look like front matter', () => {
    expect(parseSubagent('a.md', `${file('name: a')}\n---\nMore.`).instructions).toBe(
      'Do it well.\n\n---\nMore.',
    );
  });

  it.each([
    ['a list', ['bash', 'read_file']],
    ['text with commas', 'bash, read_file'],
  ])('names tools as %s', (_, tools) => {
    expect(parseSubagent('a.md', file(`tools: ${JSON.stringify(tools)}`)).tools).toEqual([
      'bash',
      'read_file',
    ]);
  });

  it('may have no tools at all', () => {
    expect(parseSubagent('a.md', file('tools: []')).tools).toEqual([]);
  });

  it.each([
    [/"tool" is not a known key.*tools/, 'tool: bash'],
    [/not valid YAML/, 'name: [unclosed'],
    [/must be a list of "key: value" lines/, '- a\n- b'],
    [/^name "a b" may hold/, 'name: a b'],
    [/^name must be text/, 'name: 7'],
    [/^tools must be a list of tool names/, 'tools: {bash: true}'],
    [/^tools must be a list of tool names/, 'tools: [1]'],
    [/^max_steps must be a whole number from 1/, 'max_steps: 0'],
    [/^max_steps must be a whole number from 1/, 'max_steps: many'],
    [/not valid YAML/, 'a: &a [x, x]\nb: *a'],
  ])('is refused with the reason %s', (reason, line) => {
    expect(() => parseSubagent('a.md', file(line))).toThrow(reason);
  });
});
