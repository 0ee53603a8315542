import { expect, it } from '@jest/globals';
import { targetOf } from './request-target.js';

it.each([
  ['/api/keys', '/api/keys', '/api/keys', ''],
  ['/%61pi/keys?a=1&b=?', '/api/keys', '/%61pi/keys', 'a=1&b=?'],
  ['http://host:80/api/keys?a=1', '/api/keys', '/api/keys', 'a=1'],
  ['HTTP://host', '/', '/', ''],
  ['http://host?a', '/', '/', 'a'],
  ['/s/a%2Fb', '/s/a%2Fb', '/s/a%2Fb', ''],
  ['/s/%ff', '/s/%ff', '/s/%ff', ''],
  ['/redirect?to=http://other/path', '/redirect', '/redirect', 'to=http://other/path'],
])('takes %s apart', (url, path, rawPath, query) => {
  const address = query === '' ? rawPath : `${rawPath}?${query}`;
  expect(targetOf(url)).toEqual({ path, rawPath, query, address });
});
