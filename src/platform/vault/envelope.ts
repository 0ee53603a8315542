import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.js';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM: `iv | ciphertext | tag`. What is encrypted for one context opens in that context only. */
export function encrypt(key: KeyObject, plain: Buffer | string, context: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(context));
  const inside = [cipher.update(Buffer.from(plain)), cipher.final()];
  return Buffer.concat([iv, ...inside, cipher.getAuthTag()]);
}

/** undefined where the key or the context is another one, or a byte was changed. */
export function decrypt(key: KeyObject, sealed: Buffer, context: string): Buffer | undefined {
  if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-TAG_BYTES));
  const inside = decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([inside, decipher.final()]);
  } catch {
    // Only the tag can be wrong here.
    return undefined;
  }
}

/** Whose a secret is. All of it is authenticated, so that rows cannot be swapped. */
export interface SecretOwner {
  /** What keeps it, e.g. a table's name. */
  readonly place: string;
  readonly id: string;
  readonly organization_id: string | null;
}

/** A secret under a key of its own, which is wrapped by a key of the ring. */
export interface Envelope {
  readonly key_id: string;
  readonly wrapped_key: Buffer;
  readonly sealed: Buffer;
}

/** A row was changed outside the vault, or the key of this id is another one than the one that sealed it. */
export class SecretDamaged extends Error {
  constructor({ place, id }: SecretOwner, keyId: string) {
    super(`The secret ${id} of ${place} does not open with the vault key "${keyId}"`);
  }
}

export function seal(ring: KeyRing, owner: SecretOwner, value: string): Envelope {
  const dataKey = randomBytes(32);
  const sealed = encrypt(createSecretKey(dataKey), value, contextOf(owner));
  return { ...wrap(ring, owner, dataKey), sealed };
}

/** Throws VaultKeyMissing, SecretDamaged. */
export function open(ring: KeyRing, row: SecretOwner & Envelope): string {
  const dataKey = createSecretKey(unwrap(ring, row));
  const value = decrypt(dataKey, row.sealed, contextOf(row));
  if (!value) throw new SecretDamaged(row, row.key_id);
  return value.toString();
}

/** The same secret under the first key of the ring. */
export function rewrap(ring: KeyRing, row: SecretOwner & Envelope): Omit<Envelope, 'sealed'> {
  return wrap(ring, row, unwrap(ring, row));
}

function wrap({ first }: KeyRing, owner: SecretOwner, dataKey: Buffer): Omit<Envelope, 'sealed'> {
  return { key_id: first.id, wrapped_key: encrypt(first.key, dataKey, contextOf(owner)) };
}

function unwrap(ring: KeyRing, row: SecretOwner & Envelope): Buffer {
  const dataKey = decrypt(ring.find(row.key_id).key, row.wrapped_key, contextOf(row));
  if (!dataKey) throw new SecretDamaged(row, row.key_id);
  return dataKey;
}

const contextOf = ({ place, id, organization_id }: SecretOwner) => `${place}:${id}:${organization_id ?? ''}`;
