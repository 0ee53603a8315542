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
  ['atelier-credential', `key: atl_${'a1-_'.repeat(10)}xyz_0a1b2c3d`],
  ['atelier-credential', `key: atx_${'a1-_'.repeat(10)}xyz`],
  ['atelier-credential', `key: ath_${'a1-_'.repeat(10)}xyz`],
  ['atelier-credential', 'key: whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH'],
  ['atelier-address', `post to https://atelier.example.com/api/hooks/${'a1-_'.repeat(10)}xyz please`],
  ['atelier-address', `see https://share.example.com/s/${'a1-_'.repeat(10)}xyz/plan.md`],
  [
    'jwt',
    'auth: eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P',
  ],
  ['jwt', `auth: eyJhbGciOiJIUzI1NiJ9.eyJ${'a1B2'.repeat(700)}.dozjgNryP4J3jVmNHl0w5N`],
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
  `some_path_${'a1b2'.repeat(12)}`,
  `https://example.com/s/${'a1b2'.repeat(12)}`,
  'import { eyJ } from "eyJ.eyJ";',
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
