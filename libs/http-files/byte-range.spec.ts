import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseRange, rangeOf } from './send-file.js';

describe('a range', () => {
  it.each([
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=2-5', { start: 2, end: 5 }],
    ['bytes=2-', { start: 2, end: 9 }],
    ['bytes=-2', { start: 8, end: 9 }],
    ['bytes=-20', { start: 0, end: 9 }],
    ['bytes=0-20', { start: 0, end: 9 }],
    ['BYTES=0-1', { start: 0, end: 1 }],
  ])('%s of ten bytes is %j', (header, range) => {
    expect(parseRange(header, 10)).toEqual(range);
  });

  it.each([
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=5-2',
    'bytes=0-1,3-4',
    'bytes=a-b',
    'bytes= 0-1',
    'lines=0-1',
    'bytes=0x1-2',
  ])('that is none, or more than one (%s), means the whole file', header => {
    expect(parseRange(header, 10)).toBeUndefined();
  });

  it.each([
    ['bytes=10-', 10],
    ['bytes=-0', 10],
    ['bytes=0-', 0],
    ['bytes=-5', 0],
    ['bytes=0-0', 0],
  ])('%s of %i bytes is not there', (header, size) => {
    expect(() => parseRange(header, size)).toThrow(
      expect.objectContaining({ status: 416, headers: { 'content-range': `bytes */${size}` } }),
    );
  });

  it('never leaves the file, whatever is asked for', () => {
    const number = fc.oneof(
      fc.constant(''),
      fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String),
      fc.nat(20).map(String),
    );
    fc.assert(
      fc.property(number, number, fc.nat(20), (first, last, size) => {
        let range: ReturnType<typeof parseRange>;
        try {
          range = parseRange(`bytes=${first}-${last}`, size);
        } catch (error) {
          return (error as { status: number }).status === 416;
        }
        return range === undefined || (0 <= range.start && range.start <= range.end && range.end < size);
      }),
      { seed: 1 },
    );
  });

  it('counts only for the version that If-Range names', () => {
    const headers = { range: 'bytes=0-1' };
    expect(rangeOf(headers, '"a"', 10)).toEqual({ start: 0, end: 1 });
    expect(rangeOf({ ...headers, 'if-range': '"a"' }, '"a"', 10)).toEqual({ start: 0, end: 1 });
    for (const other of ['"b"', 'W/"a"', 'Sat, 21 Nov 2026 09:00:00 GMT'])
      expect(rangeOf({ ...headers, 'if-range': other }, '"a"', 10)).toBeUndefined();
  });
});
