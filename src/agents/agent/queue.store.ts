import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../platform/database/database.js';
import type { Row } from '../../platform/database/rows.js';
import type { Message } from '../chats/message.entity.js';
import { storable } from '../storable.js';

interface QueuedRow {
  message_id: string;
  call_id: string;
  run_number: string;
  text: string;
  created_at: string;
}

/** What waits in a chat: runs that no worker has taken up, behind the one in flight. */
@Injectable()
export class QueueStore {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** The runs of a chat that have not ended, the one in flight (or next) first. */
  async pendingRuns(chatId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from run where chat_id = ${chatId} and status = 'pending' order by number`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  async list(chatId: string, limit: number, after = '0'): Promise<QueuedRow[]> {
    const { rows } = await sql<QueuedRow>`
      select m.id as message_id, r.id as call_id, r.number as run_number, m.created_at,
        (select string_agg(part ->> 'text', '') from jsonb_array_elements(m.content) part) as text
      from run r join message m on m.run_id = r.id and m.role = 'user'
      where r.chat_id = ${chatId} and r.status = 'pending' and r.state = 'queued' and r.attempt = 0 and r.number > ${after}::bigint
      order by r.number limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  message(id: string): Promise<Row<Message> | undefined> {
    return this.database
      .tables<{ message: Message }>()
      .selectFrom('message')
      .selectAll()
      .where('id', '=', id)
      .where('role', '=', 'user')
      .executeTakeFirst();
  }

  /** Changes a message whose run has not begun; says whether it could. */
  async rewrite(messageId: string, text: string): Promise<boolean> {
    const { rows } = await sql`
      with waiting as (
        select r.id from run r join message m on m.run_id = r.id
        where m.id = ${messageId} and r.status = 'pending' and r.attempt = 0 for update of r
      )
      update message set content = ${storable([{ type: 'text', text }])}::jsonb
      where id = ${messageId} and run_id in (select id from waiting) returning id`.execute(
      this.database.tables(),
    );
    return rows.length > 0;
  }

  /** Takes a run that has not begun, and its message, out of the chat; says whether it could. */
  async withdraw(unit: UnitOfWork, runId: string): Promise<boolean> {
    const { rows } = await sql`
      delete from run where id = ${runId} and status = 'pending' and attempt = 0 returning id`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }
}
