import path from 'node:path';
import * as envelopes from '#libs/envelope/index.js';
import { asVaultKeys, CannotStart, type Config } from '../config/index.js';

/** A stored secret needs a key that this process does not have. */
export class VaultKeyMissing extends CannotStart {
  constructor(
    readonly keyId: string,
    ring: KeyRing | undefined,
    source: string,
  ) {
    super(
      `The database holds secrets that are sealed with the vault key "${keyId}", and this process does not have it: ` +
        `${source} has ${ring ? ring.ids.map(id => `"${id}"`).join(', ') : 'no keys'}. ` +
        'Every process on one database needs the same keys: set VAULT_KEYS, or share DATA_DIR; after a loss, restore ' +
        'the file vault.keys from a backup (docs/vault.md)',
    );
  }
}

function keysIn(file: envelopes.KeyFile): envelopes.WrappingKey[] | undefined {
  const text = file.read();
  return text === undefined ? undefined : asVaultKeys(text, file.path);
}

/** The keys that wrap the keys of secrets; they lie outside the database. The first wraps, all of them open. */
export class KeyRing {
  private constructor(
    private keys: readonly envelopes.WrappingKey[],
    readonly file: envelopes.KeyFile | undefined,
  ) {}

  /** The operator's keys, else those of the file. `usedKey` is the id of a key that the database needs already, if any. */
  static open({ vaultKeys, dataDir }: Config, usedKey: string | undefined): KeyRing {
    if (vaultKeys) return new KeyRing(vaultKeys, undefined);
    const file = new envelopes.KeyFile(path.resolve(dataDir, 'vault.keys'));
    if (file.read() === undefined) {
      // A new key would open nothing of what is there.
      if (usedKey !== undefined) throw new VaultKeyMissing(usedKey, undefined, file.path);
      file.create();
    }
    return new KeyRing(keysIn(file) ?? [], file);
  }

  /** The key that wraps new secrets. */
  get first(): envelopes.WrappingKey {
    const [first] = this.keys;
    if (!first) throw new Error('The vault has no key');
    return first;
  }

  get ids(): string[] {
    return this.keys.map(({ id }) => id);
  }

  /** Throws VaultKeyMissing. */
  find(id: string): envelopes.WrappingKey {
    const found = this.keys.find(key => key.id === id) ?? this.reload().find(key => key.id === id);
    if (!found) throw new VaultKeyMissing(id, this, this.file?.path ?? 'VAULT_KEYS');
    return found;
  }

  /** Reads the file again: another process may have put a new key first. */
  reload(): readonly envelopes.WrappingKey[] {
    this.keys = (this.file && keysIn(this.file)) ?? this.keys;
    return this.keys;
  }
}

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
