import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { asVaultKeys, CannotStart, type Config, type VaultKey } from '../config/index.js';

/** `DATA_DIR/vault.keys`: one `id:base64` a line, readable by its owner alone. */
export class KeyFile {
  readonly path: string;

  constructor(dataDir: string) {
    this.path = path.resolve(dataDir, 'vault.keys');
  }

  /** undefined where there is no file. */
  read(): VaultKey[] | undefined {
    const text = this.text();
    return text === undefined ? undefined : asVaultKeys(text, this.path);
  }

  /** Makes the file with one key. Of several processes that do so at once, all end with the file of the first. */
  create(): void {
    this.writeBeside(newKey(), temporary => {
      try {
        // Unlike a rename, a link never replaces what is there.
        linkSync(temporary, this.path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    });
  }

  /** Puts a new key before the others. */
  addFirst(): void {
    this.writeBeside(`${newKey()}${this.text() ?? ''}`, temporary => renameSync(temporary, this.path));
  }

  private text(): string | undefined {
    try {
      return readFileSync(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Writes a temporary file to the disk, and lets `place` give it its name. */
  private writeBeside(text: string, place: (temporary: string) => void): void {
    const temporary = `${this.path}.${randomBytes(6).toString('hex')}`;
    const file = openSync(temporary, 'wx', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
      place(temporary);
    } finally {
      closeSync(file);
      rmSync(temporary, { force: true });
    }
    const folder = openSync(path.dirname(this.path), 'r');
    fsyncSync(folder);
    closeSync(folder);
  }
}

const newKey = () => `${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}\n`;

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

/** The keys that wrap the keys of secrets; they lie outside the database. The first wraps, all of them open. */
export class KeyRing {
  private constructor(
    private keys: readonly VaultKey[],
    readonly file: KeyFile | undefined,
  ) {}

  /** The operator's keys, else those of the file. `usedKey` is the id of a key that the database needs already, if any. */
  static open({ vaultKeys, dataDir }: Config, usedKey: string | undefined): KeyRing {
    if (vaultKeys) return new KeyRing(vaultKeys, undefined);
    const file = new KeyFile(dataDir);
    if (!file.read()) {
      // A new key would open nothing of what is there.
      if (usedKey !== undefined) throw new VaultKeyMissing(usedKey, undefined, file.path);
      file.create();
    }
    return new KeyRing(file.read() ?? [], file);
  }

  /** The key that wraps new secrets. */
  get first(): VaultKey {
    const [first] = this.keys;
    if (!first) throw new Error('The vault has no key');
    return first;
  }

  get ids(): string[] {
    return this.keys.map(({ id }) => id);
  }

  /** Throws VaultKeyMissing. */
  find(id: string): VaultKey {
    const found = this.keys.find(key => key.id === id) ?? this.reload().find(key => key.id === id);
    if (!found) throw new VaultKeyMissing(id, this, this.file?.path ?? 'VAULT_KEYS');
    return found;
  }

  /** Reads the file again: another process may have put a new key first. */
  reload(): readonly VaultKey[] {
    this.keys = this.file?.read() ?? this.keys;
    return this.keys;
  }
}
