import { Injectable } from '@nestjs/common';
import { newId, type UnitOfWork } from '../database/index.js';
import { open, type SecretOwner, seal } from './envelope.js';
import { RootKeys } from './root-keys.js';
import { Seal } from './seal.js';
import { Secret } from './secret.js';
import { type Reader, type SecretRow, VaultStore } from './vault.store.js';

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
    createdAt = new Date(),
  ): Promise<string> {
    const owner = { place, id: newId(), organization_id };
    await this.store.insert(unit, { ...owner, ...seal(this.roots.ring, owner, value) }, createdAt);
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
