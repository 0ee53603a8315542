import { describe, expect, it } from '@jest/globals';
import { decodeCursor, encodeCursor, pageOf } from './page.js';

describe('cursors', () => {
  it('come back as they were given out', () => {
    const id = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
    expect(decodeCursor(encodeCursor(['2026-11-21T09:30:00.000Z', id]), 'time', 'id')).toEqual([
      '2026-11-21T09:30:00.000Z',
      id,
    ]);
    expect(decodeCursor(undefined, 'id')).toEqual([]);
  });

  it.each([
    ['no cursor at all', 'x'],
    ['of another list', encodeCursor([1, 2])],
    ['with something else in it', encodeCursor(["' or true --"])],
    ['not a list', Buffer.from('{}').toString('base64url')],
  ])('are refused when %s', (_, cursor) => {
    expect(() => decodeCursor(cursor, 'id')).toThrow(expect.objectContaining({ status: 422 }));
  });
});

describe('pageOf', () => {
  it('shows the rows of the page, and where to go on only if there are more', () => {
    const page = (rows: number[]) =>
      pageOf(
        rows,
        2,
        row => row * 10,
        row => [row],
      );
    expect(page([1, 2])).toEqual({ items: [10, 20], next_cursor: null });
    expect(page([1, 2, 3])).toEqual({ items: [10, 20], next_cursor: encodeCursor([2]) });
    expect(page([])).toEqual({ items: [], next_cursor: null });
  });
});
