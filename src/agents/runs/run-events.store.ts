import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import { SharedLookups } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { eventsOf } from './run-rows.store.js';

/** What a page of events may take, besides its first one. */
const PAGE_BYTES = 128 * 1024;
/** Pages that streams read at the same time: most of the connections to the database stay for requests. */
const MAX_READS = 4;
/** What is kept of pages that were read, and for how long: those who watch the same run read them one after the other. */
const KEPT_BYTES = 8 * 1024 * 1024;
const KEPT_MS = 5_000;
/** A page this large is kept; a smaller one is read faster than it is kept. */
const WORTH_KEEPING_BYTES = PAGE_BYTES / 4;

/** Which page: of which run, after which event, and how many rows are looked at. */
export interface PageAfter {
  readonly runId: string;
  readonly after: number;
  readonly limit: number;
}

/** What a page has of one run. */
export interface RunPart {
  readonly runId: string;
  /** Never changed: many streams send the same. */
  readonly events: ServerEvent[];
}

export interface EventPage<Part extends RunPart = RunPart> {
  readonly parts: readonly Part[];
  readonly bytes: number;
}

/** One row of {@link cutToPage}. */
export type PageRow = ServerEvent & { position: number; bytes: number };

/** Which page, and how it is read. */
export interface PageQuery<Part extends RunPart> {
  /** All pages with this name hold the same, from their beginning as far as each goes. */
  readonly place: string;
  readonly limit: number;
  readonly read: () => Promise<EventPage<Part>>;
}

/** Who waits for a page, and until when. */
export interface PageReader {
  readonly whose: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * SQL for as many of the events of `found` (position, id, type, data, bytes) as fit into {@link PAGE_BYTES}, in order, and one
 * at least.
 */
export const cutToPage = (found: RawBuilder<unknown>): RawBuilder<PageRow> => sql`
  select position, id, type as event, bytes, data from (
    select *, sum(bytes) over (order by position, id rows between unbounded preceding and 1 preceding) as before
    from (${found}) found
  ) page
  where coalesce(before, 0) + case when before is null then 0 else bytes end <= ${PAGE_BYTES}`;

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
   * Events of a run after event number `after`, in order: as many as fit into {@link PAGE_BYTES}, those of `limit` rows at
   * most, and one at least. Throws the reason of `signal` when that is aborted before the turn has come.
   */
  async read(page: PageAfter, reader: PageReader): Promise<ServerEvent[]> {
    const { runId, after, limit } = page;
    const { parts } = await this.take(
      { place: `${runId} ${after}`, limit, read: () => this.query(page) },
      reader,
    );
    return parts[0]?.events ?? [];
  }

  /** The newest event of a run. */
  async last(runId: string): Promise<ServerEvent | undefined> {
    const found = sql`
      select 1 as position, event.*, octet_length(event.data::text) as bytes from run_event row
      cross join lateral ${eventsOf('row')} event
      where row.run_id = ${runId} order by row.id desc, event.id desc limit 1`;
    const { rows } = await cutToPage(found).execute(this.database.tables());
    return rows.map(eventOf).at(0);
  }

  /** The page, when its turn has come or as it was read for another. */
  async take<Part extends RunPart>(
    query: PageQuery<Part>,
    { whose, signal }: PageReader,
  ): Promise<EventPage<Part>> {
    const { place, limit, read } = query;
    // Whoever reads a place reads parts of the same kind there.
    const keptAt = () => this.keptAt(place) as EventPage<Part> | undefined;
    const look = async () => keptAt() ?? this.keep(place, await read());
    const turn = () => this.underWay.get(`${place} ${limit}`, look) as Promise<EventPage<Part>>;
    return keptAt() ?? this.limit.run(turn, { whose, signal });
  }

  /** Events are added to the log and never changed, so a page holds however old it is; it may only be shorter than it could. */
  private keptAt(place: string): EventPage | undefined {
    const found = this.kept.get(place);
    return found && Date.now() - found.since < KEPT_MS ? found : undefined;
  }

  private keep<Page extends EventPage>(place: string, page: Page): Page {
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
    const found = sql`
      select 1 as position, event.*, octet_length(event.data::text) as bytes from (
        select * from run_event where run_id = ${runId} and id > ${after} order by id limit ${limit}
      ) row cross join lateral ${eventsOf('row')} event where event.id > ${after}`;
    const { rows } = await sql<PageRow>`${cutToPage(found)} order by id`.execute(this.database.tables());
    return pageOf([{ runId, events: rows.map(eventOf) }], rows);
  }
}

export const eventOf = ({ id, event, data }: PageRow): ServerEvent => ({ id, event, data });

export const pageOf = <Part extends RunPart>(parts: Part[], rows: readonly { bytes: number | null }[]) => ({
  parts,
  bytes: rows.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
});
