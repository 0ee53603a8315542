import { describe, expect, it } from '@jest/globals';
import { bytes, count, limits } from './limits.js';
import { asChoice, asHost, asInteger, asNames, asOrigins, asProxies, asWebAddress } from './parse.js';
import { envExample, InvalidSetting, optional, type Parse, setting, settingsDocument } from './setting.js';

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

describe('limits', () => {
  const rooms = limits('ROOMS', 'What a house has.', {
    doors: count('doors', 4, [0, 9]),
    cellar: bytes('its cellar', 2 ** 30),
  });

  it.each<[string | undefined, Record<string, number>]>([
    [undefined, { doors: 4, cellar: 2 ** 30 }],
    ['doors=0', { doors: 0, cellar: 2 ** 30 }],
    [' cellar = 3MiB , doors=9,', { doors: 9, cellar: 3 * 2 ** 20 }],
    ['cellar=1000', { doors: 4, cellar: 1000 }],
  ])('have defaults where %j does not list them', (raw, values) => expect(rooms.read(raw)).toEqual(values));

  it.each([
    ['doors=10', 'doors in ROOMS must be a whole number from 0 to 9, not "10".'],
    ['doors=1KiB', 'doors in ROOMS must be a whole number from 0 to 9, not "1KiB".'],
    ['cellar=1GB', 'cellar in ROOMS must be a whole number'],
    ['doors=', 'doors in ROOMS must be a whole number from 0 to 9, not ""'],
    ['windows=1', 'ROOMS must list limits such as doors=4, each one of doors, cellar, not "windows=1".'],
    ['doors', 'ROOMS must list limits such as doors=4, each one of doors, cellar, not "doors".'],
    ['doors=1,doors=2', 'ROOMS must list doors once.'],
  ])('refuse %j', (raw, sentence) => expect(() => rooms.read(raw)).toThrow(sentence));

  it('are explained one by one, in the example and in the document', () => {
    expect(envExample('# All.\n', [rooms])).toBe(
      '# All.\n\n# What a house has.\n#   doors: doors\n#   cellar: its cellar\n# ROOMS=doors=4,cellar=1GiB\n',
    );
    expect(settingsDocument('# All\n', new Map([['House', [rooms, proxy]]]))).toBe(
      [
        '# All\n',
        '## House\n',
        '### `ROOMS`\n',
        'What a house has.\n',
        '- `doors`: doors\n- `cellar`: its cellar\n',
        'Default: `doors=4,cellar=1GiB`\n',
        '### `PROXY`\n',
        'What requests go through.\n',
      ].join('\n'),
    );
  });
});
