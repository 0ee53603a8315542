import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type Actor, organizationsOf, visibleTo } from '../../../platform/access/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, readPage } from '../../../platform/dto/index.js';
import type { Notification } from '../types/notification.js';
import type { ListNotifications, ReadAllNotifications } from './inbox.dto.js';

/** What a stream reads of an inbox. */
export interface InboxState {
  readonly last_number: number;
  readonly unread_count: number;
  /** Oldest first. */
  readonly added: Notification[];
}

/** What can be done with one notification. */
export type Mark = 'read' | 'unread' | 'archive';

const MARKS: Record<Mark, RawBuilder<unknown>> = {
  read: sql`read_at = coalesce(read_at, now())`,
  unread: sql`read_at = null`,
  archive: sql`archived_at = coalesce(archived_at, now())`,
};

/** The notifications of the caller, as far as they may know of them now. */
@Injectable()
export class InboxStore {
  constructor(private readonly database: Database) {}

  /** Newest first, from before the number `before`. */
  list(actor: Actor, input: ListNotifications): Promise<Page<Notification>> {
    const { unread, category, workspace_id, archived = false, ...page } = input;
    const conditions = [
      sql`(archived_at is not null) = ${archived}`,
      unread === undefined ? sql`true` : sql`(read_at is null) = ${unread}`,
      category === undefined ? sql`true` : sql`category = ${category}`,
      workspace_id === undefined ? sql`true` : sql`workspace_id = ${workspace_id}`,
    ];
    return readPage({ by: 'number', kind: 'number' }, page, async ({ after, limit }) => {
      const { rows } = await sql<Notification>`
        select n.* from notification n where ${isListedTo(actor)} and ${sql.join(conditions, sql` and `)}
          and ${after === undefined ? sql`true` : sql`number < ${after}`}
        order by number desc limit ${limit}`.execute(this.database.tables());
      return rows;
    });
  }

  async countUnread(actor: Actor, within: Pick<UnitOfWork, 'tables'> = this.database): Promise<number> {
    const { rows } = await sql<{ count: number }>`select ${unreadCount(actor)} as count`.execute(
      within.tables(),
    );
    return rows[0]?.count ?? 0;
  }

  /** What was added after a number, as many as `limit`; all in one look. */
  async since(actor: Actor, after: number, limit: number): Promise<InboxState> {
    const { rows } = await sql<InboxState>`
      select coalesce((select last_number from notification_inbox where user_id = ${actor.id}), 0)::float8 as last_number,
        ${unreadCount(actor)} as unread_count,
        coalesce((select jsonb_agg(added order by number) from (
          select n.* from notification n where ${isListedTo(actor)} and number > ${after} order by number limit ${limit}) added), '[]') as added`.execute(
      this.database.tables(),
    );
    return rows[0] ?? { last_number: 0, unread_count: 0, added: [] };
  }

  /** undefined where the caller has no such notification. */
  async mark(unit: UnitOfWork, actor: Actor, id: string, mark: Mark): Promise<Notification | undefined> {
    await this.number(unit, actor);
    const { rows } = await sql<Notification>`
      update notification n set ${MARKS[mark]} where id = ${id} and ${isListedTo(actor)} returning n.*`.execute(
      unit.tables(),
    );
    return rows[0];
  }

  async readAll(unit: UnitOfWork, actor: Actor, { before, category }: ReadAllNotifications): Promise<void> {
    await this.number(unit, actor);
    await sql`
      update notification n set read_at = now()
      where ${isListedTo(actor)} and read_at is null
        and ${before === undefined ? sql`true` : sql`created_at < ${before}::timestamptz`}
        and ${category === undefined ? sql`true` : sql`category = ${category}`}`.execute(unit.tables());
  }

  /** A change has a number, as a notification has, so that streams see it; its lock keeps changes in order. */
  private async number(unit: UnitOfWork, { id }: Actor): Promise<void> {
    await sql`update notification_inbox set last_number = last_number + 1 where user_id = ${id}`.execute(
      unit.tables(),
    );
  }
}

const unreadCount = (actor: Actor): RawBuilder<number> =>
  sql`(select count(*)::int from notification n
    where ${isListedTo(actor)} and read_at is null and archived_at is null)`;

/** Whether the notification `n` is in the caller's inbox, and about what they, and their credential, reach now. */
function isListedTo(actor: Actor): RawBuilder<boolean> {
  const { organization_id, workspace_ids } = actor.credential;
  return sql`n.user_id = ${actor.id} and n.in_app and case
    when n.workspace_id is not null then n.workspace_id in (select v.id from ${visibleTo(actor)} v)
    when n.organization_id is not null then ${workspace_ids === null}
      and n.organization_id in (select o.organization_id from ${organizationsOf(actor)} o)
    else ${organization_id === null && workspace_ids === null} end`;
}
