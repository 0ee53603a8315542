import { createSecretKey, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { open, rewrap, seal } from './envelope.js';

const keyOf = (id: string) => ({ id, key: createSecretKey(randomBytes(32)) });
const [a, b] = [keyOf('a'), keyOf('b')];

it('opens with its key in its context, and in no other way', () => {
  const envelope = seal(a, 'text', 'here');
  expect(open(a, envelope, 'here')).toBe('text');
  expect(open(a, envelope, 'there')).toBeUndefined();
  expect(open(b, envelope, 'here')).toBeUndefined();
  const sealed = Buffer.from(envelope.sealed);
  sealed.writeUInt8(sealed.readUInt8(14) ^ 1, 14);
  expect(open(a, { ...envelope, sealed }, 'here')).toBeUndefined();
  expect(open(a, { ...envelope, sealed: sealed.subarray(0, 4) }, 'here')).toBeUndefined();
});

it('changes its wrapping key alone', () => {
  const envelope = seal(a, '', 'here');
  const rewrapped = { ...envelope, ...rewrap(a, b, envelope, 'here') };
  expect(rewrapped).toMatchObject({ key_id: 'b', sealed: envelope.sealed });
  expect(open(b, rewrapped, 'here')).toBe('');
  expect(rewrap(b, a, envelope, 'here')).toBeUndefined();
});
