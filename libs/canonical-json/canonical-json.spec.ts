import { describe, expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import { canonicalJson, NestedTooDeeply } from './index.js';

describe('canonical JSON', () => {
  it('is that of the example in RFC 8785', () => {
    const value = {
      // biome-ignore lint/correctness/noPrecisionLoss: as in the example
      numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('orders members by UTF-16 code units', () => {
    const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 };
    const names = Object.keys(JSON.parse(canonicalJson(value).replaceAll('"1"', '"one"')));
    expect(names).toEqual(['\r', 'one', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33']);
  });

  it('is the same whatever the order, and leaves out what is undefined', () => {
    expect(canonicalJson({ a: 1, b: { d: -0, c: undefined } })).toBe(canonicalJson({ b: { d: 0 }, a: 1 }));
  });

  it('has all digits of numbers that no double is equal to', () => {
    expect(canonicalJson(parseJson('{"b":[1e400],"a":8202522731445525542}'))).toBe(
      '{"a":8202522731445525542,"b":[1e400]}',
    );
  });

  it('refuses what is nested too deeply', () => {
    const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`);
    expect(() => canonicalJson(deep)).toThrow(NestedTooDeeply);
  });
});
