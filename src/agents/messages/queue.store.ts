import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, storable, type UnitOfWork } from '../../platform/database/index.js';
import type { StoredMessage } from '../chats/index.js';
import type { RunRow } from '../runs/index.js';

export interface QueuedRow {
  message_id: string;
  call_id: string;
  run_number: string;
  delivery: RunRow['delivery'];
  /** How many runs of the chat come first. */
  position: number;
  text: string;
  created_at: string;
}

/** What waits in a chat: runs that no worker has taken up, behind the one in flight. */
@Injectable()
export class QueueStore {
  constructor(private readonly database: Database) {}

  /** Those whose run has not begun, in order, from after the run with number `after`; or only the one of a message. */
  async list(
    chatId: string,
    { after = '0', limit = 1, messageId }: { after?: string; limit?: number; messageId?: string },
    on: Pick<UnitOfWork, 'tables'> = this.database,
  ): Promise<QueuedRow[]> {
    const { rows } = await sql<QueuedRow>`
      with pending as (
        select *, (row_number() over (order by number) - 1)::int as position from run
        where chat_id = ${chatId} and status = 'pending' and merged_into is null
      )
      select m.id as message_id, r.id as call_id, r.number as run_number, r.delivery, r.position, m.created_at,
        (select string_agg(part ->> 'text', '') from jsonb_array_elements(m.content) part) as text
      from pending r join message m on m.run_id = r.id and m.role = 'user'
      where r.state = 'queued' and r.attempt = 0 and r.number > ${after}::bigint
        and (${messageId ?? null}::uuid is null or m.id = ${messageId ?? null}::uuid)
      order by r.number limit ${limit}`.execute(on.tables());
    return rows;
  }

  message(id: string, on: Pick<UnitOfWork, 'tables'> = this.database): Promise<StoredMessage | undefined> {
    return on
      .tables()
      .selectFrom('message')
      .selectAll()
      .where('id', '=', id)
      .where('role', '=', 'user')
      .executeTakeFirst();
  }

  /** Changes a message whose run has not begun; says whether it could. */
  async rewrite(unit: UnitOfWork, messageId: string, text: string): Promise<boolean> {
    const { rows } = await sql`
      with waiting as (
        select r.id from run r join message m on m.run_id = r.id
        where m.id = ${messageId} and r.status = 'pending' and r.attempt = 0 and r.merged_into is null for update of r
      )
      update message set content = ${storable([{ type: 'text', text }])}::jsonb || coalesce(
        (select jsonb_agg(part) from jsonb_array_elements(content) part where part ->> 'type' = 'attachment'), '[]')
      where id = ${messageId} and run_id in (select id from waiting) returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Takes a message whose run was withdrawn out of the conversation. */
  async forget(unit: UnitOfWork, messageId: string): Promise<void> {
    await sql`delete from message where id = ${messageId}`.execute(unit.tables());
  }

  /** Puts waiting runs of one chat in the order given: they exchange their numbers, and their messages with them. */
  async arrange(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
    await sql`
      with slot as (
        select number, row_number() over (order by number) as place from run where id = any(${[...ids]}::uuid[])
      ), moved as (
        update run r set number = slot.number
        from unnest(${[...ids]}::uuid[]) with ordinality as wanted(id, place) join slot using (place)
        where r.id = wanted.id and r.number <> slot.number returning r.id, r.number
      )
      update message m set run_number = moved.number from moved where m.run_id = moved.id`.execute(
      unit.tables(),
    );
  }
}
