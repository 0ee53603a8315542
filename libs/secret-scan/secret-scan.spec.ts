import { expect, it } from '@jest/globals';
import { SecretScan } from './index.js';

const TOKEN = `ghp_${'a1B2'.repeat(9)}`;

function scan(bytes: Buffer, chunk = bytes.length || 1) {
  const one = new SecretScan('a.txt');
  for (let at = 0; at < bytes.length; at += chunk) one.add(bytes.subarray(at, at + chunk));
  return one.end();
}

it.each([
  ['github-token', TOKEN],
  ['private-key', '-----BEGIN OPENSSH PRIVATE KEY-----'],
  ['aws-access-key', 'AKIAIOSFODNN7EXAMPLE'],
  ['anthropic-key', `sk-ant-api03-${'x'.repeat(40)}`],
  ['password-in-url', 'postgres://app:hunter2@db/app'],
  ['random-value', 'API_SECRET=9f8Gh2kLmN4pQrS7tUvWxYz'],
  ['netrc-password', 'machine example.com\nlogin me\npassword hunter2'],
])('finds %s', (rule, text) => {
  expect(scan(Buffer.from(`one\ntwo\n${text}\n`))).toMatchObject([{ path: 'a.txt', line: 3, rule }]);
  expect(JSON.stringify(scan(Buffer.from(text)))).not.toContain(text);
});

it.each([
  '',
  'PATH=/usr/local/bin:/usr/bin',
  'postgres://localhost/app',
  'const sk = "sk-";',
  'NAME=aaaaaaaaaaaaaaaaaaaaaaaa1',
])('finds nothing in %j', text => expect(scan(Buffer.from(text))).toEqual([]));

it('finds it in UTF-16, with and without a byte order mark', () => {
  const little = Buffer.from(`name = one\nkey = ${TOKEN}\n`, 'utf16le');
  const big = Buffer.from(little).swap16();
  for (const bytes of [little, big, Buffer.concat([Buffer.from([0xff, 0xfe]), little])])
    expect(scan(bytes, 7)).toMatchObject([{ line: 2, rule: 'github-token' }]);
});

it('finds each once, wherever it is cut, in the right line', () => {
  const bytes = Buffer.from(`${'filler\n'.repeat(500)}${TOKEN}\n${'more\n'.repeat(500)}${TOKEN}`);
  const whole = scan(bytes);
  expect(whole.map(({ line }) => line)).toEqual([501, 1002]);
  for (const chunk of [1, 13, 1000, 1024, 4000]) expect(scan(bytes, chunk)).toEqual(whole);
});
