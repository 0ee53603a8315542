import { expect, it } from '@jest/globals';
import { withArgumentsAsText } from './google-arguments.js';

const call = (args: string) =>
  `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${args}}}]}}]}`;

/** What becomes of an answer that comes in pieces of `size` bytes. */
async function through(text: string, size: number): Promise<string> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  const ask = withArgumentsAsText(async () => new Response(ReadableStream.from(pieces)));
  return (await ask('https://example.com')).text();
}

it.each([1, 7, 1000])('arguments become a text with all digits, in pieces of %d bytes', async size => {
  const text = `${call('{"id":8202522731445525542,"ö":"\\"functionCall\\""}')}\r\n\r\ndata: {"a":"functionCall ö"}\n\n`;
  const args = JSON.stringify('{"id":8202522731445525542,"ö":"\\"functionCall\\""}');
  expect(await through(text, size)).toBe(`${call(args)}\r\n\r\ndata: {"a":"functionCall ö"}\n\n`);
});

it.each([
  'data: {"functionCall"\n',
  'data: {"candidates":{"functionCall":1}}\n',
  'data: null "functionCall"',
  `data: {"candidates":[null],"functionCall":1}\n`,
  '{"functionCall":{"args":{"id":8202522731445525542}}}',
  `${call('null')}\n`,
])('an answer without arguments stays as it is: %j', async text => {
  expect(await through(text, 1000)).toBe(text);
});
