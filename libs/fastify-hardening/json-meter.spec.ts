import { expect, it } from '@jest/globals';
import { JsonMeter } from './body.js';

/** Whether a text passes, in pieces of each of some sizes. */
function passes(text: string): boolean {
  const results = [1, 2, 3, 7, 64_000].map(size => {
    const meter = new JsonMeter();
    const bytes = Buffer.from(text);
    try {
      for (let at = 0; at < bytes.length; at += size) meter.take(bytes.subarray(at, at + size));
      return true;
    } catch {
      return false;
    }
  });
  expect(new Set(results).size).toBe(1);
  return results[0] === true;
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

it.each([
  ['an ordinary body', '{"a": [1, {"b": "c"}], "d": null}', true],
  ['lists 100 deep', nested(100), true],
  ['lists 101 deep', nested(101), false],
  ['objects 101 deep', '{"a":'.repeat(101), false],
  ['brackets in a text', `{"a": "${'[{'.repeat(1000)}"}`, true],
  ['brackets behind a quote in a text', `{"a": "\\"${'['.repeat(200)}"}`, true],
  ['brackets behind a text that ends in a backslash', `{"a": "\\\\", "b": ${nested(200)}}`, false],
  ['lists one after the other', `[${'[],'.repeat(1000)}[]]`, true],
  ['100,001 values', `[${'0,'.repeat(100_001)}0]`, false],
  ['20,000 fields', `{${Array.from({ length: 20_000 }, (_, n) => `"${n}":0`).join(',')}}`, true],
  ['20,001 fields, of several objects', `[${'{"a":0},'.repeat(20_000)}{"a":0}]`, false],
  ['colons in a text', `["${':'.repeat(50_000)}"]`, true],
  ['commas in a text', `["${','.repeat(200_000)}"]`, true],
])('%s', (_, text, expected) => {
  expect(passes(text)).toBe(expected);
});
