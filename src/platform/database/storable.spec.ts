import { describe, expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import { storable } from './database.js';

/** What is stored of a value. */
const stored = (value: unknown): unknown => JSON.parse(storable(value));

describe('JSON that can be stored', () => {
  it('is that of the value, where nothing is wrong with it', () => {
    const value = { a: [1, null, true, 'Grüße 🙂', '\n"\\'], b: { c: undefined, d: new Date(0) } };
    expect(storable(value)).toBe(JSON.stringify(value));
    expect(storable('\\u0000 and \\ud800 as text')).toBe(JSON.stringify('\\u0000 and \\ud800 as text'));
  });

  it.each([
    ['a NUL character', 'a\0b', 'a\ufffdb'],
    ['the first half of a pair', '\ud83d', '\ufffd'],
    ['the second half of a pair', 'a\ude42b', 'a\ufffdb'],
    ['halves in the wrong order', '\ude42\ud83d', '\ufffd\ufffd'],
    ['a NUL character after a backslash', '\\\0', '\\\ufffd'],
  ])('has something else for %s, however deep', (_, text, instead) => {
    expect(stored(text)).toBe(instead);
    expect(stored({ a: [{ b: text, c: 'c🙂' }] })).toEqual({ a: [{ b: instead, c: 'c🙂' }] });
  });

  it('keeps the digits of numbers, also where a text is mended', () => {
    const value = parseJson('{"id":8202522731445525542,"text":"a\\u0000b"}');
    expect(storable(value)).toBe('{"id":8202522731445525542,"text":"a\ufffdb"}');
  });
});
