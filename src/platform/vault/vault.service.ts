import { createHmac, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { decrypt, encrypt } from '#libs/envelope/index.js';
import { newId, type UnitOfWork } from '../database/index.js';
import { open, type SecretOwner, seal } from './key-ring.js';
import { type RootKey, RootKeys } from './root-keys.js';
import { type Reader, type SecretRow, VaultStore } from './vault.store.js';

/**
 * An opened secret. It has no text form: what logs, serializes or inspects it sees nothing. Reveal it only into the request
 * that needs it.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }
}

/**
 * Seals and signs with keys that follow from the root keys, for one purpose. What it makes names its key, so that it opens
 * after a rotation; nothing of it is kept in the vault.
 */
export class Seal {
  constructor(
    private readonly roots: RootKeys,
    private readonly purpose: string,
  ) {}

  close(content: Buffer | string, context: string): Buffer {
    const { current } = this.roots;
    return Buffer.concat([current.header, encrypt(current.derive(this.purpose), content, context)]);
  }

  /** undefined for what was not closed here in this context. */
  open(sealed: Buffer, context: string): Buffer | undefined {
    const [root, rest] = this.roots.split(sealed);
    return root && decrypt(root.derive(this.purpose), rest, context);
  }

  /** A signature in base64url. */
  sign(text: string): string {
    return this.signature(this.roots.current, text).toString('base64url');
  }

  verify(text: string, signature: string): boolean {
    const given = Buffer.from(signature, 'base64url');
    const [root] = this.roots.split(given);
    if (!root || !this.roots.verifying(root.id)) return false;
    const expected = this.signature(root, text);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** The keys themselves, for libraries that sign; the first signs, all of them verify. */
  keys(): Buffer[] {
    return this.roots.all.map(root => root.derive(this.purpose).export());
  }

  private signature(root: RootKey, text: string): Buffer {
    const mac = createHmac('sha256', root.derive(this.purpose)).update(text).digest();
    return Buffer.concat([root.header, mac]);
  }
}

/** A secret as it was opened, and what a later change must name. */
export interface OpenedSecret {
  readonly id: string;
  readonly secret: Secret;
  readonly revision: number;
  readonly createdAt: Date;
}

/**
 * Secrets that the database keeps and cannot read: each under a key of its own, wrapped by a key that lies outside the
 * database. For what is short-lived, or much, {@link seal} derives keys instead of keeping a row for each.
 */
@Injectable()
export class Vault {
  constructor(
    readonly roots: RootKeys,
    private readonly store: VaultStore,
  ) {}

  /** Keeps a secret; returns its id. */
  async put(
    unit: UnitOfWork,
    { place, organization_id }: Omit<SecretOwner, 'id'>,
    value: string,
  ): Promise<string> {
    const owner = { place, id: newId(), organization_id };
    await this.store.insert(unit, { ...owner, ...seal(this.roots.ring, owner, value) }, new Date());
    return owner.id;
  }

  /** undefined where the owner has no such secret. Throws VaultKeyMissing, SecretDamaged. */
  async open(owner: SecretOwner, reader?: Reader): Promise<OpenedSecret | undefined> {
    const row = await this.store.find(owner, reader);
    return row && this.opened(row);
  }

  /** All secrets of a place, newest first. */
  async list(place: string, reader?: Reader): Promise<OpenedSecret[]> {
    return (await this.store.list([place], reader)).map(row => this.opened(row));
  }

  /** Replaces the value that had this revision; false where it was replaced meanwhile. */
  replace(unit: UnitOfWork, owner: SecretOwner, value: string, revision: number): Promise<boolean> {
    return this.store.update(unit, owner, seal(this.roots.ring, owner, value), revision);
  }

  remove(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
    return this.store.delete(unit, ids);
  }

  seal(purpose: string): Seal {
    return new Seal(this.roots, purpose);
  }

  /** How many secrets each key wraps. */
  countByKey(): Promise<{ id: string; secrets: number }[]> {
    return this.store.countByKey();
  }

  /** The id of a key that a secret needs, and that this process does not have. */
  async missingKey(): Promise<string | undefined> {
    const { ring } = this.roots;
    const unknown = await this.store.neededKey(ring.ids);
    if (unknown === undefined) return undefined;
    // Another process may have put it into the file.
    ring.reload();
    return this.store.neededKey(ring.ids);
  }

  private opened(row: SecretRow): OpenedSecret {
    const secret = new Secret(open(this.roots.ring, row));
    return { id: row.id, secret, revision: row.revision, createdAt: new Date(row.created_at) };
  }
}
