import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Envelope } from '#libs/envelope/index.js';
import { Database, type UnitOfWork } from '../database/index.js';
import type { SecretOwner } from './key-ring.js';

export interface SecretRow extends SecretOwner, Envelope {
  readonly revision: number;
  readonly created_at: string;
  readonly rotated_at: string | null;
}
/** Where to read: outside a transaction, or in one. */
export type Reader = Pick<Database, 'tables'>;

/** The table `secret`. */
@Injectable()
export class VaultStore {
  constructor(readonly database: Database) {}

  /** One process at a time prepares the vault. */
  async lock(unit: UnitOfWork): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtext('vault'))`.execute(unit.tables());
  }

  async insert(unit: UnitOfWork, row: SecretOwner & Envelope, createdAt: Date): Promise<void> {
    await unit
      .tables()
      .insertInto('secret')
      .values({ ...row, revision: 1, created_at: createdAt.toISOString(), rotated_at: null })
      .execute();
  }

  find({ place, id, organization_id }: SecretOwner, reader: Reader = this.database) {
    return reader
      .tables()
      .selectFrom('secret')
      .selectAll()
      .where('id', '=', id)
      .where('place', '=', place)
      .where('organization_id', 'is not distinct from', organization_id)
      .executeTakeFirst();
  }

  /** All secrets of some places, newest first. */
  list(places: readonly string[], reader: Reader = this.database): Promise<SecretRow[]> {
    return reader
      .tables()
      .selectFrom('secret')
      .selectAll()
      .where('place', 'in', places)
      .orderBy('created_at', 'desc')
      .execute();
  }

  /** False where the revision is another by now. */
  async update(
    unit: UnitOfWork,
    { id }: SecretOwner,
    envelope: Envelope,
    revision: number,
  ): Promise<boolean> {
    const { numUpdatedRows } = await unit
      .tables()
      .updateTable('secret')
      .set({ ...envelope, revision: revision + 1, rotated_at: new Date().toISOString() })
      .where('id', '=', id)
      .where('revision', '=', revision)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async delete(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await unit.tables().deleteFrom('secret').where('id', 'in', ids).execute();
  }

  /** Deletes what is sealed with a key that is lost; returns how much that was. */
  async deleteOfKey(unit: UnitOfWork, keyId: string): Promise<number> {
    const { numDeletedRows } = await unit
      .tables()
      .deleteFrom('secret')
      .where('key_id', '=', keyId)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  /** Rows by the key that wraps them. */
  async countByKey(): Promise<{ id: string; secrets: number }[]> {
    const { rows } = await sql<{ id: string; secrets: number }>`
      select key_id as id, count(*)::int as secrets from secret group by key_id order by key_id`.execute(
      this.database.tables(),
    );
    return rows;
  }

  /** The id of a key that some row needs, and that is not among `known`. */
  async neededKey(known: readonly string[], reader: Reader = this.database): Promise<string | undefined> {
    const { rows } = await sql<{ key_id: string }>`
      select key_id from secret where key_id <> all(${known}::text[]) limit 1`.execute(reader.tables());
    return rows[0]?.key_id;
  }

  /** The next rows after an id, all of them or those that `first` does not wrap; locked in a transaction. */
  async batch(after: string, limit: number, notOf: string | null, unit?: UnitOfWork): Promise<SecretRow[]> {
    const { rows } = await sql<SecretRow>`
      select * from secret where id > ${after}::uuid and key_id is distinct from ${notOf} order by id limit ${limit}
      ${unit ? sql`for update skip locked` : sql``}`.execute((unit ?? this.database).tables());
    return rows;
  }

  async rewrap(unit: UnitOfWork, id: string, wrapped: Omit<Envelope, 'sealed'>): Promise<void> {
    const { key_id, wrapped_key } = wrapped;
    await sql`update secret set key_id = ${key_id}, wrapped_key = ${wrapped_key}, rotated_at = now() where id = ${id}`.execute(
      unit.tables(),
    );
  }
}
