import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';

/** A run in the stream of its chat: `base` events of runs before it come first. */
export interface StreamedRun {
  id: string;
  number: string;
  base: number;
}

/**
 * The events of a chat: those of its runs, one run after the other. A run that waits is not shown before those ahead of it
 * have ended, and one whose message entered another never is; so an event that was shown keeps its place for ever.
 */
@Injectable()
export class ChatEventsStore {
  constructor(private readonly database: Database) {}

  /** The run in which event number `after` of the chat is, or the last one shown; undefined where there is none. */
  async at(chatId: string, after: number): Promise<StreamedRun | undefined> {
    const { rows } = await sql<StreamedRun>`
      with shown as (
        select id, number, last_event, sum(last_event) over (order by number) as total from run
        where chat_id = ${chatId} and merged_into is null and number <= ${this.lastShown(chatId)}
      )
      select id, number, (total - last_event)::int as base from shown
      where total > ${after} or number = (select max(number) from shown) order by number limit 1`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  /** The run that is shown after one that has ended; undefined while there is none. */
  async after(chatId: string, run: StreamedRun): Promise<StreamedRun | undefined> {
    const { rows } = await sql<StreamedRun>`
      select n.id, n.number, (${run.base} + r.last_event)::int as base from run r, run n
      where r.id = ${run.id} and r.status <> 'pending' and n.chat_id = ${chatId} and n.merged_into is null
        and n.number > r.number and n.number <= ${this.lastShown(chatId)}
      order by n.number limit 1`.execute(this.database.tables());
    return rows[0];
  }

  async exists(chatId: string): Promise<boolean> {
    const { rows } = await sql`select 1 from chat where id = ${chatId}`.execute(this.database.tables());
    return rows.length > 0;
  }

  private lastShown(chatId: string) {
    return sql`coalesce((select min(number) from run where chat_id = ${chatId} and status = 'pending' and merged_into is null),
      9223372036854775807)`;
  }
}
