import * as envelopes from '#libs/envelope/index.js';
import type { KeyRing } from './key-ring.js';

/** Whose a secret is. All of it is authenticated, so that rows cannot be swapped. */
export interface SecretOwner {
  /** What keeps it, e.g. a table's name. */
  readonly place: string;
  readonly id: string;
  readonly organization_id: string | null;
}

type SealedSecret = SecretOwner & envelopes.Envelope;

/** A row was changed outside the vault, or the key of this id is another one than the one that sealed it. */
export class SecretDamaged extends Error {
  constructor({ place, id, key_id }: SealedSecret) {
    super(`The secret ${id} of ${place} does not open with the vault key "${key_id}"`);
  }
}

export const seal = ({ first }: KeyRing, owner: SecretOwner, value: string): envelopes.Envelope =>
  envelopes.seal(first, value, contextOf(owner));

/** Throws VaultKeyMissing, SecretDamaged. */
export function open(ring: KeyRing, row: SealedSecret): string {
  const value = envelopes.open(ring.find(row.key_id), row, contextOf(row));
  if (value === undefined) throw new SecretDamaged(row);
  return value;
}

/** The same secret under the first key of the ring. */
export function rewrap(ring: KeyRing, row: SealedSecret): Omit<envelopes.Envelope, 'sealed'> {
  const wrapped = envelopes.rewrap(ring.find(row.key_id), ring.first, row, contextOf(row));
  if (!wrapped) throw new SecretDamaged(row);
  return wrapped;
}

const contextOf = ({ place, id, organization_id }: SecretOwner) => `${place}:${id}:${organization_id ?? ''}`;
