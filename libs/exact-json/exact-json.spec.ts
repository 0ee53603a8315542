import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { exactNumber, isExactNumber, isSameScalar, marked, parseJson, toDouble, unmarked } from './index.js';

const again = (text: string) => JSON.stringify(parseJson(text));

describe('a number', () => {
  it.each([
    '8202522731445525542',
    '-9223372036854775808',
    '18446744073709551615',
    '9007199254740993',
    '0.1000000000000000055511151231257827',
    '12345678.123456789',
    '1e400',
    '-1E+400',
    '1e-400',
    '1.7976931348623157e309',
    '3.141592653589793238462643383279',
  ])('that no double is equal to is written as it was read: %s', text => {
    for (const around of [text, `[${text}]`, `{"a":{"b":[1,${text}]},"c":"${text}"}`])
      expect(again(around)).toBe(around);
    expect(isExactNumber(parseJson(text))).toBe(true);
    expect(toDouble(parseJson(text))).toBe(Number(text));
  });

  it.each([
    '0',
    '-1',
    '9007199254740991',
    '9007199254740992',
    '1e21',
    '1e300',
    '0.1',
    '5e-324',
    '100000000000000000000',
  ])('that a double is equal to is one: %s', text =>
    expect(parseJson(`[${text},1234567890123456789]`)).toMatchObject([Number(text), {}]),
  );

  it.each(['1e1001', '1e-1001', '1e99999999999999999999', '9'.repeat(1001), `0.${'1'.repeat(1001)}`])(
    'that is written out with too many digits is refused: %s',
    text => expect(() => parseJson(text)).toThrow(/^The number .* has more than 1000 digits$/),
  );

  it('is no object that looks like one', () => {
    expect(isExactNumber(parseJson('{"rawJSON":"1e400"}'))).toBe(false);
    expect(isExactNumber(Object.create(null, { rawJSON: { value: '1e400', enumerable: true } }))).toBe(false);
  });

  it('keeps its value, however it is written', () => {
    const digits = fc.stringMatching(/^(?:0|[1-9]\d{0,40})(?:\.\d{1,40})?(?:[eE][+-]?[1-8]?\d{1,2})?$/);
    const number = fc.tuple(fc.constantFrom('', '-'), digits).map(parts => parts.join(''));
    const isKept = (text: string) => {
      const value = parseJson(`{"a":[${text}]}`) as { a: [unknown] };
      const written = JSON.stringify(value);
      return isExactNumber(value.a[0])
        ? written === `{"a":[${text}]}`
        : scaled(text) === scaled(JSON.stringify(value.a[0]));
    };
    fc.assert(fc.property(number, isKept), { seed: 20261128, numRuns: 5_000 });
  });

  it('reads everything else as JSON.parse does', () => {
    const read = (value: unknown) => JSON.stringify(parseJson(JSON.stringify([value, 1e100])));
    const isSame = (value: unknown) => read(value) === JSON.stringify([value, 1e100]);
    fc.assert(fc.property(fc.jsonValue({ noUnicodeString: false }), isSame), { seed: 20261128 });
    for (const text of ['', '{', '[01234567890123456789]', '1234567890123456.', "'1234567890123456'"])
      expect(() => parseJson(text)).toThrow(SyntaxError);
    expect(Object.keys(parseJson('{"__proto__":1234567890123456789}') as object)).toEqual(['__proto__']);
  });
});

/** A decimal as a whole number times ten to the 1000, by other means than those of the library. */
function scaled(text: string): bigint {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const places = 1_200 + Number(power) - fraction.length;
  return (
    BigInt(whole.replace('-', '') + fraction) * 10n ** BigInt(places) * (text.startsWith('-') ? -1n : 1n)
  );
}

it.each([
  ['8202522731445525542', '8202522731445525542', true],
  ['8202522731445525542', '8202522731445525543', false],
  ['8202522731445525542', '8202522731445526000', false],
  ['82025227314455255420e-1', '8202522731445525542', true],
  ['-1e400', '1e400', false],
  ['3', '3.0', true],
  ['"3"', '3', false],
  ['null', '0', false],
])('%s and %s are the same: %j', (one, other, isSame) => {
  expect(isSameScalar(parseJson(one), parseJson(other))).toBe(isSame);
});

it('a number in a text has its digits where JSON writes it so', () => {
  expect(JSON.stringify(exactNumber('8202522731445525542', 1))).toBe('8202522731445525542');
  for (const text of ['3', '0x1fffffffffffffff', '08202522731445525542', '.8202522731445525542', '"x"', ''])
    expect(exactNumber(text, 1)).toBe(1);
});

it('goes through the parser of others behind a mark', () => {
  const text = '{"a":[8202522731445525542,3,"8202522731445525542"],"b":{"c":1e400}}';
  const through = JSON.parse(marked(text, 'mark:'));
  expect(through).toEqual({
    a: ['mark:8202522731445525542', 3, '8202522731445525542'],
    b: { c: 'mark:1e400' },
  });
  expect(JSON.stringify(unmarked(through, 'mark:', true))).toBe(text);
  expect(unmarked(through, 'mark:', false)).toEqual(JSON.parse(text));
  for (const other of ['{"a":3}', '8202522731445525542 is no JSON', ''])
    expect(marked(other, 'mark:')).toBe(other);
});
