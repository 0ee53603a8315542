import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NO_CHAIN } from '../../../platform/access/index.js';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { type Notice } from '../types/notice.js';
import { type Notification } from '../types/notification.js';
import { categoryOf, TYPES, type TypeName } from '../types/types.js';

const KEPT_DAYS = 180;
const SWEEP_MS = 86_400_000;

const dedupeKey = (type: TypeName, about: string): string => `${type}:${about}`;

/** Adds notifications; the inbox reads them (`inbox/`). */
@Injectable()
export class NotificationsStore {
  constructor(private readonly database: Database) {}

  /**
   * Tells people, each once, and returns what is new; `listed` are those whose inboxes list it. Inboxes are locked in the
   * order of ids, so that statements that meet here wait for each other and never in a circle.
   */
  async add(
    unit: UnitOfWork,
    type: TypeName,
    notice: Notice,
    people: readonly { id: string; isListed: boolean }[],
  ): Promise<Notification[]> {
    const {
      organization_id,
      workspace_id,
      about,
      title,
      body,
      data,
      link = null,
      expires_at = null,
      chain: { deployments, depth, untrusted } = NO_CHAIN,
    } = notice;
    const told = people.map(({ id, isListed }) => ({ id: newId(), user_id: id, in_app: isListed }));
    const key = dedupeKey(type, about);
    const { rows } = await sql<Notification>`
      with told as (
        select t.* from jsonb_to_recordset(${JSON.stringify(told)}::jsonb) as t (id uuid, user_id uuid, in_app boolean)
        where not exists (select from notification n where n.user_id = t.user_id and n.dedupe_key = ${key})
      ), numbered as (
        insert into notification_inbox as i (user_id, last_number) select user_id, 1 from told order by user_id
        on conflict (user_id) do update set last_number = i.last_number + 1 returning user_id, last_number
      )
      insert into notification (id, user_id, organization_id, workspace_id, number, type, category, severity, title, body, link,
        data, chain, chain_depth, untrusted, dedupe_key, in_app, expires_at, created_at)
      select told.id, user_id, ${organization_id}::uuid, ${workspace_id}::uuid, last_number, ${type}, ${categoryOf(type)},
        ${TYPES[type].severity}, ${title}, ${body}, ${link}, ${JSON.stringify(data)}::jsonb, ${[...deployments]}::uuid[],
        ${depth}, ${untrusted}, ${key}, in_app,
        ${expires_at}::timestamptz, now()
      from told join numbered using (user_id)
      on conflict (user_id, dedupe_key) do nothing
      returning *`.execute(unit.tables());
    return rows;
  }

  /** Marks as read all notifications of one thing; returns who had not read it. */
  async read(unit: UnitOfWork, type: TypeName, about: string): Promise<string[]> {
    const key = dedupeKey(type, about);
    const { rows } = await sql<{ user_id: string }>`
      with people as (
        select user_id from notification where dedupe_key = ${key} and read_at is null order by user_id
      ), numbered as (
        update notification_inbox i set last_number = last_number + 1 from people where i.user_id = people.user_id
        returning i.user_id
      )
      update notification n set read_at = now() from numbered
      where n.user_id = numbered.user_id and n.dedupe_key = ${key} returning n.user_id`.execute(
      unit.tables(),
    );
    return rows.map(({ user_id }) => user_id);
  }

  @Chore('remove_old_notifications', { everyMs: SWEEP_MS })
  async removeOld(): Promise<void> {
    const before = sql<string>`now() - make_interval(days => ${KEPT_DAYS})`;
    await this.database.tables().deleteFrom('notification').where('created_at', '<', before).execute();
    await this.database.tables().deleteFrom('digest').where('send_at', '<', before).execute();
  }
}
