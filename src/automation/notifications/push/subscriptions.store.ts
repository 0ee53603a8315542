import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import type { PushKeys } from './push.dto.js';

/** Browsers of one person; more are forgotten, the oldest first. */
const MAX_SUBSCRIPTIONS = 20;

export interface Subscription {
  readonly endpoint: string;
  readonly keys: PushKeys;
}

@Injectable()
export class SubscriptionsStore {
  private readonly seal: Seal;

  constructor(
    private readonly database: Database,
    vault: Vault,
  ) {
    this.seal = vault.seal('push subscriptions');
  }

  /**
   * Subscribes a browser for a person, and for no one else: a person who signs in after another takes it over, as they hold its
   * keys. Who knows only the endpoint does not.
   */
  async put(
    unit: UnitOfWork,
    userId: string,
    { endpoint, keys: { p256dh, auth } }: Subscription,
  ): Promise<string> {
    await sql`select pg_advisory_xact_lock(hashtext(${endpoint}))`.execute(unit.tables());
    const { rows } = await sql<{ id: string; user_id: string; keys: Buffer }>`
      select id, user_id, keys from push_subscription where endpoint = ${endpoint}`.execute(unit.tables());
    const [known] = rows;
    if (known) {
      const held = this.opened(known.keys, endpoint);
      const isSame = held?.p256dh === p256dh && held.auth === auth;
      if (!isSame && known.user_id !== userId) throw new Conflict('This endpoint has other keys');
      await sql`delete from push_subscription where id = ${known.id}`.execute(unit.tables());
    }
    const keys = this.seal.close(JSON.stringify({ p256dh, auth }), endpoint);
    const id = known?.user_id === userId ? known.id : newId();
    await sql`insert into push_subscription (id, user_id, endpoint, keys, created_at)
      values (${id}, ${userId}, ${endpoint}, ${keys}, now())`.execute(unit.tables());
    await sql`delete from push_subscription where id in (
      select id from push_subscription where user_id = ${userId} order by created_at desc, id desc
      offset ${MAX_SUBSCRIPTIONS})`.execute(unit.tables());
    return id;
  }

  /** One process at a time makes the keys of the installation. */
  async lockKeys(unit: UnitOfWork): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtext('vapid_keys'))`.execute(unit.tables());
  }

  /** By their people. */
  async findIds(unit: UnitOfWork, userIds: readonly string[]): Promise<ReadonlyMap<string, string[]>> {
    const { rows } = await sql<{ user_id: string; ids: string[] }>`
      select user_id, array_agg(id order by id) as ids from push_subscription
      where user_id = any(${[...userIds]}::uuid[]) group by user_id`.execute(unit.tables());
    return new Map(rows.map(({ user_id, ids }) => [user_id, ids]));
  }

  /** undefined where it is gone, or is another person's by now. */
  async find(id: string, userId: string): Promise<Subscription | undefined> {
    const { rows } = await sql<{ endpoint: string; keys: Buffer }>`
      select endpoint, keys from push_subscription where id = ${id} and user_id = ${userId}`.execute(
      this.database.tables(),
    );
    const [row] = rows;
    const keys = row && this.opened(row.keys, row.endpoint);
    return keys && { endpoint: row.endpoint, keys };
  }

  /** Deletes what `which` names of a person; returns its id. */
  async delete(
    unit: UnitOfWork,
    userId: string,
    which: { id: string } | { endpoint: string },
  ): Promise<string | undefined> {
    const named = 'id' in which ? sql`id = ${which.id}` : sql`endpoint = ${which.endpoint}`;
    const { rows } = await sql<{ id: string }>`
      delete from push_subscription where ${named} and user_id = ${userId} returning id`.execute(
      unit.tables(),
    );
    return rows[0]?.id;
  }

  private opened(sealed: Buffer, endpoint: string): PushKeys | undefined {
    const text = this.seal.open(sealed, endpoint)?.toString();
    return text === undefined ? undefined : (JSON.parse(text) as PushKeys);
  }
}
