import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import type { DeliveryRow, Notification } from '../types/notification.js';

export interface Begun {
  readonly delivery: DeliveryRow;
  readonly notification: Notification;
}

export interface BegunDigest {
  readonly id: string;
  readonly userId: string;
  readonly channel: string;
  /** Oldest first. */
  readonly items: readonly Begun[];
}

export type NewDelivery = Pick<DeliveryRow, 'notification_id' | 'channel'> & Partial<DeliveryRow>;
const AT_ONCE = 100;

/** Rows of what is on its way. What is settled does not change any more. */
@Injectable()
export class DeliveriesStore {
  constructor(private readonly database: Database) {}

  async add(unit: UnitOfWork, rows: readonly NewDelivery[]): Promise<DeliveryRow[]> {
    if (rows.length === 0) return [];
    const created_at = sql<string>`now()`;
    const filled = rows.map(row => ({
      id: newId(),
      target: null,
      state: 'queued' as const,
      reason: null,
      attempts: 0,
      next_at: null,
      digest_id: null,
      settled_at: null,
      ...row,
      created_at,
    }));
    return unit.tables().insertInto('notification_delivery').values(filled).returningAll().execute();
  }

  /** Begins an attempt; undefined when it is held, settled or gone. */
  begin(unit: UnitOfWork, id: string): Promise<Begun | undefined> {
    return this.begun(unit, sql`d.id = ${id} and d.state = 'queued'`).then(([first]) => first);
  }

  /** Begins an attempt at a digest; undefined when it was sent or is gone. */
  async beginDigest(unit: UnitOfWork, id: string): Promise<BegunDigest | undefined> {
    const digest = await unit
      .tables()
      .selectFrom('digest')
      .selectAll()
      .where('id', '=', id)
      .where('state', '=', 'queued')
      .executeTakeFirst();
    if (!digest) return undefined;
    const items = await this.begun(unit, sql`d.digest_id = ${id} and d.state = 'held'`);
    return { id, userId: digest.user_id, channel: digest.channel, items };
  }

  async settle(
    unit: UnitOfWork,
    ids: readonly string[],
    state: 'sent' | 'failed' | 'suppressed',
    reason: string | null,
  ): Promise<void> {
    if (ids.length === 0) return;
    await sql`
      update notification_delivery set state = ${state}, reason = ${reason}, next_at = null, settled_at = now()
      where id = any(${[...ids]}::uuid[]) and state in ('queued', 'held')`.execute(unit.tables());
  }

  /** Notes why an attempt failed for now. */
  async note(unit: UnitOfWork, ids: readonly string[], reason: string): Promise<void> {
    await sql`update notification_delivery set reason = ${reason} where id = any(${[...ids]}::uuid[])`.execute(
      unit.tables(),
    );
  }

  /** Instead of an attempt, which does not count. */
  async hold(unit: UnitOfWork, id: string, until: Partial<DeliveryRow>): Promise<void> {
    const { next_at = null, digest_id = null } = until;
    await sql`
      update notification_delivery
      set state = 'held', attempts = attempts - 1, next_at = ${next_at}::timestamptz, digest_id = ${digest_id}::uuid
      where id = ${id}`.execute(unit.tables());
  }

  /** The digest that is open until then: the first caller opens it. undefined where it is closed already. */
  async openDigest(unit: UnitOfWork, userId: string, channel: string, at: Date): Promise<string | undefined> {
    const { rows } = await sql<{ id: string }>`
      insert into digest (id, user_id, channel, send_at, state)
      values (${newId()}, ${userId}, ${channel}, ${at.toISOString()}, 'open')
      on conflict (user_id, channel, send_at) do update set state = 'open' where digest.state = 'open'
      returning id`.execute(unit.tables());
    return rows[0]?.id;
  }

  /** Sends digests whose time has come; returns their ids. */
  async takeDigests(unit: UnitOfWork): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      update digest set state = 'queued' where id in (
        select id from digest where state = 'open' and send_at <= now() order by send_at limit ${AT_ONCE}
        for update skip locked)
      returning id`.execute(unit.tables());
    return rows.map(({ id }) => id);
  }

  /** Lets go what quiet hours held; returns the ids. */
  async takeHeld(unit: UnitOfWork): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      update notification_delivery set state = 'queued', next_at = null where id in (
        select id from notification_delivery where state = 'held' and next_at <= now() order by next_at limit ${AT_ONCE}
        for update skip locked)
      returning id`.execute(unit.tables());
    return rows.map(({ id }) => id);
  }

  /** Milliseconds until either has something; undefined where nothing is held. */
  async untilNext(): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from least(
        (select min(send_at) from digest where state = 'open'),
        (select min(next_at) from notification_delivery where state = 'held')) - now())::float8 * 1000 as ms`.execute(
      this.database.tables(),
    );
    return rows[0]?.ms ?? undefined;
  }

  async closeDigest(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().updateTable('digest').set({ state: 'done' }).where('id', '=', id).execute();
  }

  private async begun(unit: UnitOfWork, which: ReturnType<typeof sql>): Promise<Begun[]> {
    const { rows } = await sql<Begun>`
      with begun as (
        update notification_delivery d set attempts = d.attempts + 1 where ${which} returning d.*
      )
      select to_jsonb(begun) as delivery, to_jsonb(n) as notification
      from begun join notification n on n.id = begun.notification_id order by n.number`.execute(
      unit.tables(),
    );
    return rows;
  }
}
