import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import { Database } from '../../platform/database/index.js';
import {
  cutToPage,
  type EventPage,
  eventOf,
  type PageReader,
  type PageRow,
  pageOf,
  RunEventPages,
  type RunPart,
} from './run-events.store.js';
import { eventsOf } from './run-rows.store.js';

/** Runs that are looked at for one page. */
const MAX_RUNS = 64;
const MAX_NUMBER = '9223372036854775807';

/** A run in the stream of its chat: `base` events of runs before it come first. */
export interface StreamedRun {
  id: string;
  base: number;
}

/** What a page has of a run that follows another one. */
export interface NextPart extends RunPart {
  /** Events from the beginning of the other one to that of this one. */
  readonly distance: number;
  /** The run has ended, and all of its events are here. */
  readonly isWhole: boolean;
}

/** A run and one of its events; without the event where none is read. */
type NextRow = { runId: string; position: number; distance: number; lastEvent: number; hasEnded: boolean } & (
  | PageRow
  | { id: null; bytes: null }
);

/**
 * The events of a chat: those of its runs, one run after the other. A run that waits is not shown before those ahead of it
 * have ended, and one whose message entered another never is; so an event that was shown keeps its place for ever.
 *
 * Rows are compared by `(chat_id, number)` and put in that order, for only `run_chat_id` has it: by `chat_id = … order by
 * number` the planner walks the runs of all chats by their number wherever statistics do not know the chat.
 */
@Injectable()
export class ChatEventsStore {
  constructor(
    private readonly database: Database,
    private readonly pages: RunEventPages,
  ) {}

  /** The run in which event number `after` of the chat is, or the last one shown; undefined where there is none. */
  async at(chatId: string, after: number): Promise<StreamedRun | undefined> {
    const { rows } = await sql<StreamedRun>`
      with shown as (
        select id, number, last_event, sum(last_event) over (order by number) as total from run
        where (chat_id, number) >= (${chatId}::uuid, 0) and (chat_id, number) <= (${chatId}::uuid, ${lastShown(chatId)})
          and merged_into is null
      )
      select id, (total - last_event)::int as base from shown
      where total > ${after} or number = (select max(number) from shown) order by number limit 1`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  /**
   * The runs that are shown after one that has ended, in order; none while there are none. Those that have ended come with
   * their events, as many as a page takes; only the last may not be whole.
   */
  async after(
    chatId: string,
    run: StreamedRun,
    limit: number,
    reader: PageReader,
  ): Promise<readonly NextPart[]> {
    const read = () => this.query(chatId, run.id, limit);
    const { parts } = await this.pages.take({ place: `after ${run.id}`, limit, read }, reader);
    return parts;
  }

  async exists(chatId: string): Promise<boolean> {
    const { rows } = await sql`select 1 from chat where id = ${chatId}`.execute(this.database.tables());
    return rows.length > 0;
  }

  private async query(chatId: string, runId: string, limit: number): Promise<EventPage<NextPart>> {
    const found = sql`
      select next.position, event.*, octet_length(event.data::text) as bytes from next cross join lateral (
        select * from run_event where run_id = next.id and next.has_ended order by id limit greatest(${limit}::int - next.before, 0)
      ) row cross join lateral ${eventsOf('row')} event`;
    const { rows } = await sql<NextRow>`
      with here as (
        select number, last_event from run where id = ${runId} and status <> 'pending'
      ), next as (
        select *, row_number() over (order by number)::int as position,
          (sum(last_event) over (order by number) - last_event)::int as before
        from (
          select id, number, last_event, status <> 'pending' as has_ended from run
          where (chat_id, number) > (${chatId}::uuid, (select number from here))
            and (chat_id, number) <= (${chatId}::uuid, ${lastShown(chatId)}) and merged_into is null
          order by chat_id, number limit ${MAX_RUNS}
        ) few
      )
      select next.id as "runId", next.position, next.last_event as "lastEvent", next.has_ended as "hasEnded",
        next.before + (select last_event from here) as distance, page.id, page.event, page.bytes, page.data
      from next left join (${cutToPage(found)}) page on page.position = next.position
      order by next.position, page.id`.execute(this.database.tables());
    return pageOf(partsOf(rows), rows);
  }
}

/** The runs up to the first that is not whole; that one if there is something of it, or nothing before it. */
function partsOf(rows: readonly NextRow[]): NextPart[] {
  const parts: NextPart[] = [];
  for (let at = 0, row = rows[at]; row; row = rows[at]) {
    const { runId, distance, hasEnded, lastEvent } = row;
    const events: ServerEvent[] = [];
    for (; rows[at]?.runId === runId; at++) {
      const event = rows[at];
      if (event && event.id !== null) events.push(eventOf(event));
    }
    const isWhole = hasEnded && events.at(-1)?.id === (lastEvent || undefined);
    if (isWhole || events.length > 0 || parts.length === 0) parts.push({ runId, distance, isWhole, events });
    if (!isWhole) break;
  }
  return parts;
}

/** The number of the first run that has not ended, or the greatest one. */
const lastShown = (chatId: string) => sql`coalesce((
  select number from run
  where (chat_id, number) >= (${chatId}::uuid, 0) and (chat_id, number) <= (${chatId}::uuid, ${sql.raw(MAX_NUMBER)})
    and status = 'pending' and merged_into is null
  order by chat_id, number limit 1), ${sql.raw(MAX_NUMBER)})`;
