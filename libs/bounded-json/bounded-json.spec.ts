import { describe, expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import { cutText, firstLines, fitted, lengthOf } from './bounded-json.js';

describe('a value that is too long', () => {
  it('keeps its shape, with long texts cut no more than they have to be', () => {
    const value = { id: 7, text: 'a'.repeat(3_000), none: null, list: ['b'] };
    expect(fitted(value, 4_000)).toEqual(value);
    expect(fitted(value, 2_500)).toEqual({
      ...value,
      text: `${'a'.repeat(2_000)}\n… 1000 characters left out`,
    });
  });

  it('keeps the beginning of its lists where short texts are not enough', () => {
    const value = { items: Array.from({ length: 1_000 }, (_, id) => ({ id })) };
    const cut = fitted(value, 300);
    expect(cut.items).toEqual(value.items.slice(0, 20));
    expect(lengthOf(cut)).toBeLessThanOrEqual(300);
  });

  it('is at its smallest where nothing is enough', () => {
    expect(fitted([{ a: 'x'.repeat(50) }, 2], 1)).toEqual([
      { a: `${'x'.repeat(20)}\n… 30 characters left out` },
    ]);
  });
});

it('counts the characters of JSON; of what is no JSON there are none', () => {
  expect(lengthOf({ a: '"' })).toBe('{"a":"\\""}'.length);
  expect(lengthOf(undefined)).toBe(0);
});

it('keeps the digits of numbers in what it cuts', () => {
  const value = parseJson(`{"id":8202522731445525542,"text":"${'x'.repeat(3_000)}"}`);
  expect(JSON.stringify(fitted(value, 2_500))).toMatch(/^\{"id":8202522731445525542,"text":"x+\\n…/);
});

it('cuts no character in half', () => {
  expect(cutText('😀😀', 3)).toBe('😀\ufffd\n… 1 characters left out');
  expect(cutText('abc', 3)).toBe('abc');
});

describe('the first lines of a text', () => {
  it.each([
    ['one\ntwo\n', 100, { text: 'one\ntwo\n', lines: 2 }],
    ['one\ntwo\nthree\n', 12, { text: 'one\n', lines: 1 }],
    ['abcdefghij', 6, { text: 'abcd', lines: 1 }],
  ])('%j within %d characters of JSON', (text, most, expected) => {
    expect(firstLines(text, most)).toEqual(expected);
    expect(JSON.stringify(expected.text).length).toBeLessThanOrEqual(most);
  });
});
