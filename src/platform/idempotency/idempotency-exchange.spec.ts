import { expect, it } from '@jest/globals';
import { RootKey } from '../vault/index.js';
import { IdempotencySeal } from './idempotency-exchange.js';

const seal = (installation = 'installation', credential = 'credential', key = 'key') => {
  const root = new RootKey(Buffer.alloc(16), installation, new Date());
  const split = (sealed: Buffer): [RootKey, Buffer] => [root, sealed.subarray(16)];
  return new IdempotencySeal({ oldest: root, current: root, split }, credential, key);
};
const answer = {
  status: 201,
  headers: { 'content-type': 'text/plain' },
  body: Buffer.from('a\nsecret\0\xff', 'latin1'),
};

it('gives back what it sealed, byte for byte', () => {
  expect(seal().open(seal().close(answer))).toEqual(answer);
  const empty = { ...answer, body: Buffer.alloc(0) };
  expect(seal().open(seal().close(empty))).toEqual(empty);
});

it('shows nothing of it, and seals it differently each time', () => {
  const sealed = seal().close(answer);
  expect(sealed.toString('latin1')).not.toContain('secret');
  expect(seal().close(answer).equals(sealed)).toBe(false);
});

it.each([
  ['installation', seal('another')],
  ['credential', seal('installation', 'another')],
  ['key', seal('installation', 'credential', 'another')],
])('can be opened by the same %s only', (_what, other) => {
  expect(() => other.open(seal().close(answer))).toThrow();
  expect(other.lookup.equals(seal().lookup)).toBe(false);
  expect(other.fingerprint('POST', '/', {}).equals(seal().fingerprint('POST', '/', {}))).toBe(false);
});

it('notices a changed byte', () => {
  const sealed = seal().close(answer);
  sealed.writeUInt8(sealed.readUInt8(36) ^ 1, 36);
  expect(() => seal().open(sealed)).toThrow();
});

it('tells requests apart by method, address and body', () => {
  const prints = [
    seal().fingerprint('POST', '/a', { a: 1 }),
    seal().fingerprint('POST', '/a', { a: 2 }),
    seal().fingerprint('POST', '/a?b', { a: 1 }),
    seal().fingerprint('PUT', '/a', { a: 1 }),
    seal().fingerprint('POST', '/a', undefined),
    seal().fingerprint('POST', '/a', null),
  ].map(print => print.toString('hex'));
  expect(new Set(prints).size).toBe(prints.length);
});
