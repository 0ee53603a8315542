import { describe, expect, it } from '@jest/globals';
import { ONE_LINE, VISIBLE_LINE } from './one-line.js';
import { plainJson, plainLine, shortName } from './plain-text.js';

describe('text of others', () => {
  it.each([
    ['Ada\r\nBcc: mallory@example.com', 'Ada Bcc: mallory@example.com'],
    ['Ada\u2028Lovelace\u2029\u0085\u000b\u0000!', 'Ada Lovelace !'],
    ['moc.elpmaxe\u202egpj.exe', 'moc.elpmaxe\ufffdgpj.exe'],
    ['\u2066Ada\u2069\ufeff', '\ufffdAda\ufffd'],
    ['  Ada \u00a0 Lovelace ', 'Ada Lovelace'],
    ['\ud800Ada', '\ufffdAda'],
    ['👩‍👧 می‌خواهم', '👩‍👧 می‌خواهم'],
  ])('%j reads %j', (text, plain) => {
    expect(plainLine(text)).toBe(plain);
  });

  it.each([
    'moc\u202egpj.exe',
    'a\u200b\u2066\u2028\u00a0\u3164\u007f\ue000b',
    'tag \u{e0041}',
    '\ud800 "\n"',
    'Über 👩 ü',
  ])('%j is the same value as JSON, with nothing hidden', text => {
    const json = plainJson({ [text]: text });
    expect(JSON.parse(json)).toEqual({ [text]: text });
    expect(json).not.toMatch(/(?![\n ])[\p{C}\p{Z}\u3164]/u);
  });

  it('is left as it is in JSON where all of it is seen', () => {
    expect(plainJson({ text: 'Über 👩 ü' }, 0)).toBe('{"text":"Über 👩 ü"}');
  });

  it('is cut where a name is too long, between signs', () => {
    expect(shortName('😀'.repeat(100))).toBe(`${'😀'.repeat(80)}…`);
    expect(shortName('Ada')).toBe('Ada');
  });
});

it.each([
  'Ada\r\nBcc: x',
  'Ada\u0000',
  'Ada\u007f',
  'Ada\u0085',
  'Ada\u2028',
  'Ada\u202e',
  'Ada\u2066',
  'A\u00adda',
  'A\u2060da',
  'A\ufeffda',
  'A\u034fda',
  '\u3164',
  'Ada\uffa0',
  '\u115f',
])('%j is not one line', text => {
  expect([ONE_LINE.test(text), VISIBLE_LINE.test(text)]).toEqual([false, false]);
});

it.each(['Ada Lovelace', 'Émilie 👩‍👧', 'می‌خواهم', ' a ', '👍', '🏴\u{e0067}\u{e007f}', '❤\ufe0f'])(
  '%j is one line',
  text => {
    expect([ONE_LINE.test(text), VISIBLE_LINE.test(text)]).toEqual([true, true]);
  },
);

it.each([
  '',
  ' ',
  ' \u00a0',
  '\u200b',
  '\u061c',
  '\u180e',
  '\u200d',
  '\u200c\u200e',
  '\ufe0f',
  '\u2800',
  '\u{e0041}\u{e0042}',
  '\u{e0100}',
])('%j is one line with nothing to see', text => {
  expect([ONE_LINE.test(text), VISIBLE_LINE.test(text)]).toEqual([true, false]);
});

it('writes what cannot be seen in a value by its number, and the value stays the same', () => {
  const value = { name: 'a\u202egnp.exe', tag: '\u{e0041}', line: 'one\ntwo' };
  const text = plainJson(value);
  expect(text).toContain('a\\u202egnp.exe');
  expect(text).not.toMatch(/[\u202e\u{e0041}]/u);
  expect(JSON.parse(text)).toEqual(value);
});
