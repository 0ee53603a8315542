import { describe, expect, it } from '@jest/globals';
import type { Said, SaidCall } from './messages.store.js';
import { supersededResults, withoutResults } from './superseded.js';

const lines = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => `${first + n}\tsome words on this line`).join('\n');

interface Called extends Partial<SaidCall> {
  input?: object;
}

/** Steps of a run, each with one call. */
const steps = (...calls: Called[]): Said[] =>
  calls.map(({ input = {}, tool = 'read_file', ...rest }, at) => ({
    role: 'assistant',
    run_id: 'run',
    step: at + 1,
    model: 'm',
    content: [{ type: 'tool-call', toolCallId: `c${at}`, toolName: tool, input }],
    calls: [
      {
        call_id: `c${at}`,
        tool,
        output: 'x'.repeat(500),
        is_error: false,
        state: 'finished',
        images: null,
        ...rest,
      },
    ],
  }));

const found = (...calls: Called[]) =>
  [...supersededResults(steps(...calls))].map(key => key.split('/')[2]).sort();
const read = (path: string, first: number, last: number): Called => ({
  input: { path },
  output: lines(first, last),
});

describe('results that later ones make superfluous', () => {
  it('are reads of lines that were read again', () => {
    expect(found(read('a', 1, 50), read('b', 1, 50), read('a', 1, 60))).toEqual(['c0']);
    expect(found(read('a', 20, 50), read('a', 1, 60), read('a', 1, 60))).toEqual(['c0', 'c1']);
    expect(found(read('a', 1, 60), read('a', 20, 50))).toEqual([]);
    expect(found(read('a', 1, 40), read('a', 30, 80))).toEqual([]);
  });

  it('are older plans, and older answers to the same question', () => {
    expect(found({ tool: 'plan' }, { tool: 'plan' }, { tool: 'plan' })).toEqual(['c0', 'c1']);
    const search = (query: string) => ({ tool: 'search_files', input: { query } });
    expect(found(search('a'), search('b'), search('a'))).toEqual(['c0']);
  });

  it('are none that failed, show images, or are short; nor does one of those make others superfluous', () => {
    expect(found(read('a', 1, 50), { ...read('a', 1, 50), is_error: true })).toEqual([]);
    expect(found(read('a', 1, 50), { ...read('a', 1, 50), images: [] })).toEqual([]);
    expect(found(read('a', 1, 2), read('a', 1, 2))).toEqual([]);
    expect(
      found({ tool: 'bash', input: { command: 'ls' } }, { tool: 'bash', input: { command: 'ls' } }),
    ).toEqual([]);
    expect(found({ input: { path: 'a' } }, { input: { path: 'a' } })).toEqual([]);
  });

  it('are replaced by a word, and all else stays', () => {
    const rows = steps(read('a', 1, 50), read('a', 1, 50));
    const [first, second] = withoutResults(rows, supersededResults(rows));
    expect(first?.calls[0]?.output).toBe('Left out to make room: a later call gave this anew.');
    expect(second).toBe(rows[1]);
    expect(rows[0]?.calls[0]?.output).toBe(lines(1, 50));
    expect(withoutResults(rows, new Set())).toBe(rows);
  });
});
