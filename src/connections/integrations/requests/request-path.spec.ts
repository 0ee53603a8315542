import { expect, it } from '@jest/globals';
import { isBelow, normalPath, requestPath } from './request-path.js';

it.each([
  ['/', '/'],
  ['/repos/acme/x', '/repos/acme/x'],
  ['/repos/acme/', '/repos/acme/'],
  ['/a%20b/ä', '/a%20b/%C3%A4'],
  ['/a:b@c', '/a:b@c'],
  ['/a;v=1/b', '/a;v=1/b'],
  ['/100%25', '/100%25'],
  ['/compare/main...dev', '/compare/main...dev'],
  ['/projects/acme%2Fsite/issues', '/projects/acme%2Fsite/issues'],
])('sends %s as %s', (path, sent) => expect(requestPath(path)).toBe(sent));

it.each([
  'repos',
  '',
  '//evil.example.com/x',
  '/a//b',
  '/a/../b',
  '/a/.',
  '/..',
  '/a/%2e%2e/b',
  '/a/%2E./b',
  '/a/..;/b',
  '/a/..;x=y/b',
  '/a/.;/b',
  '/a/..%3b/b',
  '/a/..%20/b',
  '/a/.../b',
  '/a/%252e%252e/b',
  '/a/%25%32%65%25%32%65/b',
  '/a/..%253b/b',
  '/a/%c0%ae%c0%ae/b',
  '/a/%u002e/b',
  '/a/．．/b',
  '/a/..%EF%BC%8Fb',
  '/a/;/..',
  '/a%2f..%2fb',
  '/a%2F.',
  '/a%2f%2fb',
  '/a%252fb',
  '/a%5Cb',
  '/a\\b',
  '/a?b=c',
  '/a#b',
  '/a b',
  '/a\nb',
  '/a%0d%0ab',
  '/a%00',
  `/${'x'.repeat(2001)}`,
])('refuses %j', path => expect(() => requestPath(path)).toThrow(expect.objectContaining({ status: 422 })));

it('names whole segments in a grant', () => {
  expect(normalPath('/repos/acme', 'paths')).toBe('/repos/acme');
  expect(normalPath('/repos/acme/', 'paths')).toBe('/repos/acme');
  expect(() => normalPath('/repos%2facme', 'paths')).toThrow(/^paths must not have encoded slashes/);
});

it.each([
  ['/repos/acme', ['/repos/acme'], true],
  ['/repos/acme/x', ['/repos/acme'], true],
  ['/@acme%2ftool', ['/@acme'], true],
  ['/repos/acme;x/y', ['/repos/acme'], false],
  ['/repos/acme-two', ['/repos/acme'], false],
  ['/repos', ['/repos/acme'], false],
  ['/user', ['/repos', '/user'], true],
  ['/projects/acme%2fsite', ['/projects'], true],
  ['/projects%2facme', ['/projects'], false],
  ['/anything', ['/'], true],
  ['/anything', [], true],
])('%s is below %j: %s', (path, prefixes, is) => expect(isBelow(path, prefixes)).toBe(is));
