import { describe, expect, it } from '@jest/globals';
import { asChoice, asHost, asInteger, asNames, asOrigins, asProxies, asWebAddress } from './parse.js';
import { envExample, InvalidSetting, optional, type Parse, setting } from './setting.js';

const port = setting('PORT', 'Port it listens on.', asInteger(0, 65535), 3000);
const proxy = optional('PROXY', 'What requests go through.', asWebAddress('http://proxy.example.com'));

it('has its default where it is unset or empty', () => {
  expect([port.read(undefined), port.read(''), port.read('80')]).toEqual([3000, 3000, 80]);
  expect(proxy.read('')).toBeUndefined();
});

it('stands in the example, commented out', () => {
  expect(envExample('# All.\n', [port, proxy])).toBe(
    '# All.\n\n# Port it listens on.\n# PORT=3000\n\n# What requests go through.\n# PROXY=\n',
  );
});

describe('a form', () => {
  it.each<[Parse<unknown>, string, unknown]>([
    [asChoice(['a', 'b']), 'b', 'b'],
    [asNames, ' a, ,b', ['a', 'b']],
    [asOrigins, 'https://a.example/, http://b.example:81', ['https://a.example', 'http://b.example:81']],
    [asProxies, 'loopback, 10.0.0.0/8', ['loopback', '10.0.0.0/8']],
    [asHost, 'db-1.internal', 'db-1.internal'],
  ])('takes what suits it: %#', (parse, raw, value) => expect(parse(raw, 'NAME')).toEqual(value));

  it.each<[Parse<unknown>, string]>([
    [asInteger(1, 9), '1.5'],
    [asInteger(1, 9), '10'],
    [asChoice(['a', 'b']), 'c'],
    [asOrigins, 'https://a.example/path'],
    [asProxies, 'everybody'],
    [asHost, '127.0.0.256'],
  ])('refuses what does not, and names the variable: %#', (parse, raw) => {
    expect(() => parse(raw, 'NAME')).toThrow(InvalidSetting);
    expect(() => parse(raw, 'NAME')).toThrow(/^NAME must /);
  });
});

it('never repeats an address', () => {
  expect(() => proxy.read('ftp://ada:secret@example.com')).toThrow(InvalidSetting);
  expect(() => proxy.read('ftp://ada:secret@example.com')).not.toThrow(/secret/);
});
