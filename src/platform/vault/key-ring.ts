import path from 'node:path';
import { KeyFile, type WrappingKey } from '#libs/envelope/index.js';
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

function keysIn(file: KeyFile): WrappingKey[] | undefined {
  const text = file.read();
  return text === undefined ? undefined : asVaultKeys(text, file.path);
}

/** The keys that wrap the keys of secrets; they lie outside the database. The first wraps, all of them open. */
export class KeyRing {
  private constructor(
    private keys: readonly WrappingKey[],
    readonly file: KeyFile | undefined,
  ) {}

  /** The operator's keys, else those of the file. `usedKey` is the id of a key that the database needs already, if any. */
  static open({ vaultKeys, dataDir }: Config, usedKey: string | undefined): KeyRing {
    if (vaultKeys) return new KeyRing(vaultKeys, undefined);
    const file = new KeyFile(path.resolve(dataDir, 'vault.keys'));
    if (file.read() === undefined) {
      // A new key would open nothing of what is there.
      if (usedKey !== undefined) throw new VaultKeyMissing(usedKey, undefined, file.path);
      file.create();
    }
    return new KeyRing(keysIn(file) ?? [], file);
  }

  /** The key that wraps new secrets. */
  get first(): WrappingKey {
    const [first] = this.keys;
    if (!first) throw new Error('The vault has no key');
    return first;
  }

  get ids(): string[] {
    return this.keys.map(({ id }) => id);
  }

  /** Throws VaultKeyMissing. */
  find(id: string): WrappingKey {
    const found = this.keys.find(key => key.id === id) ?? this.reload().find(key => key.id === id);
    if (!found) throw new VaultKeyMissing(id, this, this.file?.path ?? 'VAULT_KEYS');
    return found;
  }

  /** Reads the file again: another process may have put a new key first. */
  reload(): readonly WrappingKey[] {
    this.keys = (this.file && keysIn(this.file)) ?? this.keys;
    return this.keys;
  }
}
