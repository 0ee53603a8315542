import { createSecretKey, randomBytes } from 'node:crypto';
import { decrypt, encrypt } from './aead.js';
import type { KeyRing } from './key-ring.js';

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
