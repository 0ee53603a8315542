import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import { SharedLookups } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { MAX_FIELD_BYTES } from './run-state.js';

/** What a page of events may take, besides its first one. */
const PAGE_BYTES = 128 * 1024;
/** What an event may take that older versions wrote; of a larger one only the small fields are sent. */
const MAX_EVENT_BYTES = 512 * 1024;
/** Pages that streams read at the same time: most of the connections to the database stay for requests. */
const MAX_READS = 4;
/** What is kept of pages that were read, and for how long: those who watch the same run read them one after the other. */
const KEPT_BYTES = 8 * 1024 * 1024;
const KEPT_MS = 5_000;
/** A page this large is kept; a smaller one is read faster than it is kept. */
const WORTH_KEEPING_BYTES = PAGE_BYTES / 4;

/** Which page: of which run, after which event, and how many events are looked at. */
export interface PageAfter {
  readonly runId: string;
  readonly after: number;
  readonly limit: number;
}

interface EventPage {
  /** Never changed: many streams send the same. */
  readonly events: ServerEvent[];
  readonly bytes: number;
}

/** The event log of runs as streams read it: few pages at a time, in fair turns, each once for all who want it. */
@Injectable()
export class RunEventPages {
  private readonly limit = new ConcurrencyLimit(MAX_READS);
  private readonly underWay = new SharedLookups<EventPage>();
  /** By run and event; what was read first is first. */
  private readonly kept = new Map<string, EventPage & { readonly since: number }>();
  private keptBytes = 0;

  constructor(private readonly database: Database) {}

  /**
   * Events of a run after event number `after`, in order: as many as fit into {@link PAGE_BYTES}, `limit` at most, and one
   * at least. Of one that is larger, as older versions wrote them, the large fields are left out. Throws the reason of
   * `signal` when that is aborted before the turn has come.
   */
  async read(page: PageAfter, whose: readonly string[], signal: AbortSignal): Promise<ServerEvent[]> {
    const { runId, after, limit } = page;
    const place = `${runId} ${after}`;
    const look = async () => this.keptAt(place) ?? this.keep(place, await this.query(page));
    const known = this.keptAt(place);
    if (known) return known.events;
    const found = await this.limit.run(() => this.underWay.get(`${place} ${limit}`, look), { whose, signal });
    return found.events;
  }

  /** Events are added to the log and never changed, so a page holds however old it is; it may only be shorter than it could. */
  private keptAt(place: string): EventPage | undefined {
    const found = this.kept.get(place);
    return found && Date.now() - found.since < KEPT_MS ? found : undefined;
  }

  private keep(place: string, page: EventPage): EventPage {
    if (page.bytes < WORTH_KEEPING_BYTES) return page;
    this.forget(place);
    const since = Date.now();
    this.kept.set(place, { ...page, since });
    this.keptBytes += page.bytes;
    for (const oldest of this.kept.keys()) {
      if (this.keptBytes <= KEPT_BYTES) break;
      this.forget(oldest);
    }
    setTimeout(() => this.kept.get(place)?.since === since && this.forget(place), KEPT_MS).unref();
    return page;
  }

  private forget(place: string): void {
    this.keptBytes -= this.kept.get(place)?.bytes ?? 0;
    this.kept.delete(place);
  }

  private async query({ runId, after, limit }: PageAfter): Promise<EventPage> {
    const { rows } = await sql<ServerEvent & { bytes: number }>`
      select id, type as event, bytes, case when bytes <= ${MAX_EVENT_BYTES} then data else (
          select coalesce(jsonb_object_agg(key, value) filter (where octet_length(value::text) <= ${MAX_FIELD_BYTES}), '{}')
            || jsonb_build_object('omitted', jsonb_agg(key) filter (where octet_length(value::text) > ${MAX_FIELD_BYTES}))
          from jsonb_each(data)) end as data
      from (
        select *, sum(bytes) over (order by id rows between unbounded preceding and 1 preceding) as before
        from (
          select id, type, data, octet_length(data::text) as bytes from run_event
          where run_id = ${runId} and id > ${after} order by id limit ${limit}
        ) found
      ) page
      where coalesce(before, 0) + case when before is null then 0 else bytes end <= ${PAGE_BYTES} order by id`.execute(
      this.database.tables(),
    );
    return {
      events: rows.map(({ id, event, data }) => ({ id, event, data })),
      bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }
}

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
