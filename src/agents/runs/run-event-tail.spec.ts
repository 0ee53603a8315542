import { expect, it } from '@jest/globals';
import { RunEventTail } from './run-event-tail.js';
import type { NewEvent } from './run-state.js';

const text = (of: string): NewEvent => ({ type: 'text.delta', data: { text: of } });
const texts = (tail: RunEventTail, after: number, run = 'run') =>
  tail.after(run, after).map(({ id, data }) => `${id} ${(data as { text: string }).text}`);

it('gives what follows a number, and nothing where the next event is not known', () => {
  const tail = new RunEventTail();
  tail.add('run', 6, [text('a'), text('b')]);
  tail.add('run', 7, [text('c')]);
  expect(texts(tail, 4)).toEqual(['5 a', '6 b', '7 c']);
  expect(texts(tail, 6)).toEqual(['7 c']);
  expect(texts(tail, 7)).toEqual([]);
  expect(texts(tail, 3)).toEqual([]);
  expect(texts(tail, 4, 'another')).toEqual([]);
});

it('begins anew where something was written elsewhere in between', () => {
  const tail = new RunEventTail();
  tail.add('run', 2, [text('a'), text('b')]);
  tail.add('run', 4, [text('d')]);
  expect(texts(tail, 0)).toEqual([]);
  expect(texts(tail, 2)).toEqual([]);
  expect(texts(tail, 3)).toEqual(['4 d']);
});

it('keeps the newest of a run, and a bounded number of runs', () => {
  const tail = new RunEventTail();
  for (let n = 1; n <= 10; n++) tail.add('run', n, [text('x'.repeat(20_000))]);
  expect(tail.after('run', 0)).toEqual([]);
  expect(tail.after('run', 7).map(({ id }) => id)).toEqual([8, 9, 10]);
  tail.add('run', 11, [text('x'.repeat(200_000))]);
  expect(tail.after('run', 10)).toEqual([]);
  for (let n = 0; n < 600; n++) tail.add(`run ${n}`, 1, [text('a')]);
  expect(texts(tail, 0, 'run 0')).toEqual([]);
  expect(texts(tail, 0, 'run 599')).toEqual(['1 a']);
});

it('has what the log has: without NUL characters, and without fields that are too large', () => {
  const tail = new RunEventTail();
  tail.add('run', 1, [text('a\u0000b')]);
  expect(JSON.stringify(tail.after('run', 0))).not.toContain('\\u0000');
});
