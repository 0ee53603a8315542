import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { SharedLookups } from '../../platform/access/index.js';
import { ConcurrencyLimit, type TurnOf } from '../../platform/concurrency/index.js';
import { Database } from '../../platform/database/index.js';
import type { ServerEvent } from '../../platform/streams/index.js';
import { MAX_EVENT_BYTES, MAX_FIELD_BYTES, PAGE_BYTES } from './run-event.js';

/** Pages that streams read at the same time: most of the connections to the database stay for requests. */
const READS_AT_ONCE = 4;
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
  private readonly limit = new ConcurrencyLimit(READS_AT_ONCE);
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
  async read(page: PageAfter, whose: TurnOf, signal: AbortSignal): Promise<ServerEvent[]> {
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
