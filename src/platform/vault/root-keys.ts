import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import type { Config } from '../config/index.js';
import { newId, type UnitOfWork } from '../database/index.js';
import { KeyRing, open, seal } from './key-ring.js';
import type { SecretRow, VaultStore } from './vault.store.js';

/** A new key is known for so long before it is used: by then every process has it. */
export const SETTLE_MS = 3_600_000;
/** How long a key that has a successor still verifies: longer than what is signed lives. */
const RETIRE_MS = 86_400_000;

const PLACE = 'root_key';
const HEADER_BYTES = 16;

/** The newest key that everyone knows by now, of keys newest first; where none is that old, the oldest. */
export function settled<K extends { createdAt: Date }>(keys: readonly K[], now = Date.now()): K | undefined {
  return keys.find(({ createdAt }) => createdAt.getTime() + SETTLE_MS <= now) ?? keys.at(-1);
}

/** A random key that others are derived from, one for each purpose (HKDF, RFC 5869). */
export class RootKey {
  readonly #text: string;
  private readonly derived = new Map<string, KeyObject>();

  constructor(
    /** Names the key in what is sealed or signed. */
    readonly header: Buffer,
    text: string,
    readonly createdAt: Date,
  ) {
    this.#text = text;
  }

  get id(): string {
    return this.header.toString('hex');
  }

  derive(purpose: string): KeyObject {
    const known = this.derived.get(purpose);
    if (known) return known;
    const key = createSecretKey(Buffer.from(hkdfSync('sha256', this.#text, '', `atelier ${purpose}`, 32)));
    this.derived.set(purpose, key);
    return key;
  }

  /** Bytes that take this key and another secret to compute. */
  mix(secret: string, purpose: string, length: number): Buffer {
    return Buffer.from(hkdfSync('sha256', secret, this.#text, `atelier ${purpose}`, length));
  }
}

/** The root keys of the installation, in the vault; each key of the ring that comes first brings a new one. */
export class RootKeys {
  private keys: readonly RootKey[] = [];

  private constructor(
    readonly ring: KeyRing,
    private readonly store: VaultStore,
  ) {}

  /** Opens the vault; throws VaultKeyMissing. The first call ever makes the keys. */
  static open(config: Config, store: VaultStore): Promise<RootKeys> {
    return store.database.transaction(async unit => {
      await store.lock(unit);
      const ring = KeyRing.open(config, await store.neededKey([], unit));
      const roots = new RootKeys(ring, store);
      await roots.prepare(unit);
      return roots;
    });
  }

  /** Reads the keys again, and makes one for a new first key of the ring. */
  async reload(): Promise<void> {
    this.ring.reload();
    await this.store.database.transaction(async unit => {
      await this.store.lock(unit);
      await this.prepare(unit);
    });
  }

  /** The key that seals and signs. */
  get current(): RootKey {
    const key = settled(this.keys);
    if (!key) throw new Error('The vault has no root key');
    return key;
  }

  /** For what must stay the same when the current key changes. */
  get oldest(): RootKey {
    return this.keys.at(-1) ?? this.current;
  }

  /** All keys, the current one first. */
  get all(): RootKey[] {
    const { current } = this;
    return [current, ...this.keys.filter(key => key !== current)];
  }

  /** The key with this id, while its signatures count: a key that has a successor is retired after a while. */
  verifying(id: string): RootKey | undefined {
    const index = this.keys.findIndex(key => key.id === id);
    const successor = this.keys[index - 1];
    const isRetired = successor && successor.createdAt.getTime() + SETTLE_MS + RETIRE_MS < Date.now();
    return isRetired ? undefined : this.keys[index];
  }

  /** The key that `sealed` names, and what comes after that name. */
  split(sealed: Buffer): [RootKey | undefined, Buffer] {
    return [this.find(sealed.toString('hex', 0, HEADER_BYTES)), sealed.subarray(HEADER_BYTES)];
  }

  private find(id: string): RootKey | undefined {
    return this.keys.find(key => key.id === id);
  }

  private async prepare(unit: UnitOfWork): Promise<void> {
    const rows = await this.store.list([PLACE], unit);
    const contents = rows.map(row => JSON.parse(open(this.ring, row)) as Content);
    if (!contents.some(({ made_for }) => made_for === this.ring.first.id)) {
      await this.add(unit);
      return this.prepare(unit);
    }
    this.keys = rows.map((row, index) => {
      const made = rootOf(row, contents[index]?.key ?? '');
      const known = this.find(made.id);
      // What was derived from a known key is kept.
      return known?.createdAt.getTime() === made.createdAt.getTime() ? known : made;
    });
  }

  private async add(unit: UnitOfWork): Promise<void> {
    const owner = { place: PLACE, id: newId(), organization_id: null };
    const content: Content = { key: randomBytes(32).toString('base64url'), made_for: this.ring.first.id };
    await this.store.insert(
      unit,
      { ...owner, ...seal(this.ring, owner, JSON.stringify(content)) },
      new Date(),
    );
  }
}

interface Content {
  key: string;
  /** The first key of the ring when it was made. */
  made_for: string;
}

const rootOf = ({ id, created_at }: SecretRow, key: string): RootKey =>
  new RootKey(Buffer.from(id.replaceAll('-', ''), 'hex'), key, new Date(created_at));
