import { Cron } from 'croner';
import { Temporal } from 'temporal-polyfill';

/** A cron expression that cannot be used; the message says what to do. */
export class InvalidCron extends Error {}

const NICKNAMES: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};
const EVERY_HOUR = ['*', '*/1', '0-23'];
const FIELDS = 5;
const DAY_MS = 24 * 60 * 60 * 1000;
/** No zone has ever changed its offset by more at once (Samoa left out a day in 2011). */
const LARGEST_SHIFT_MS = DAY_MS + 60 * 60 * 1000;

/** Instants with one offset, `end` excluded: within it, real time runs as the wall clock does. */
interface Stretch {
  readonly from: number;
  readonly end: number;
  /** Milliseconds that the wall clock is ahead of UTC. */
  readonly offset: number;
}

/**
 * The instants of a cron expression of five fields in a time zone.
 *
 * Where the hours are given they are wall-clock times: one that does not exist fires later by the length of the gap, one that
 * comes twice fires the first time only. Where every hour is meant, each real one fires, also both of a repeated hour.
 */
export class CronSchedule {
  private readonly walls: Cron;
  private readonly isEveryHour: boolean;
  /** The one that was asked for last: the calendar of a zone costs more than all else. */
  private stretch: Stretch = { from: 0, end: 0, offset: 0 };

  /** Throws {@link InvalidCron}; the zone has to be one of the IANA database. */
  constructor(
    readonly expression: string,
    readonly zone: string,
  ) {
    const fields = (NICKNAMES[expression.trim().toLowerCase()] ?? expression).trim().split(/\s+/);
    if (fields.length !== FIELDS)
      throw new InvalidCron(
        `cron "${expression.slice(0, 100)}" must have five fields: minute, hour, day of month, month, day of week`,
      );
    this.isEveryHour = EVERY_HOUR.includes(fields[1] as string);
    try {
      // Wall-clock times are enumerated as if they were UTC, and placed in the zone afterwards.
      this.walls = new Cron(fields.join(' '), { utcOffset: 0, mode: '5-part', paused: true });
    } catch (error) {
      throw new InvalidCron(`cron "${expression.slice(0, 100)}" is not valid: ${(error as Error).message}`);
    }
  }

  /** The first instant after this one; null where there is none, as for 31 February. */
  next(after: Date): Date | null {
    const next = this.isEveryHour ? this.nextReal(after.getTime()) : this.nextPlaced(after.getTime());
    return next === null ? null : new Date(next);
  }

  /** The next `count` instants, none of them after `until`; fewer where there are no more. */
  nextOf(after: Date, count: number, until?: Date): Date[] {
    const found: Date[] = [];
    for (let at = after; found.length < count; ) {
      const next = this.next(at);
      if (next === null || (until && next > until)) break;
      found.push(next);
      at = next;
    }
    return found;
  }

  private nextReal(after: number): number | null {
    let [from, isIncluded] = [after, false];
    for (;;) {
      const { offset, end } = this.stretchAt(from);
      const wall = this.nextWall(from + offset - (isIncluded ? 1 : 0));
      if (wall === null) return null;
      if (wall - offset < end) return wall - offset;
      [from, isIncluded] = [end, true];
    }
  }

  private nextPlaced(after: number): number | null {
    const { offset, end } = this.stretchAt(after - LARGEST_SHIFT_MS);
    if (end <= after) return this.nextAround(after);
    const wall = this.nextWall(after + offset);
    if (wall === null) return null;
    return wall - offset + LARGEST_SHIFT_MS < end ? wall - offset : this.nextAround(after);
  }

  /** Near a change of the offset, times of the gap come after later ones of the wall clock: all that are near are compared. */
  private nextAround(after: number): number | null {
    let best: number | null = null;
    let end = Number.POSITIVE_INFINITY;
    let wall = this.nextWall(after + this.stretchAt(after).offset - LARGEST_SHIFT_MS);
    while (wall !== null && wall <= end) {
      const at = this.place(wall);
      if (at > after && (best === null || at < best)) {
        best = at;
        end = Math.min(end, wall + LARGEST_SHIFT_MS);
      }
      wall = this.nextWall(wall);
    }
    return best;
  }

  /** Wall-clock times are milliseconds as if the zone were UTC. */
  private nextWall(after: number): number | null {
    return this.walls.nextRun(new Date(after))?.getTime() ?? null;
  }

  private place(wall: number): number {
    const local = Temporal.Instant.fromEpochMilliseconds(wall).toZonedDateTimeISO('UTC').toPlainDateTime();
    return local.toZonedDateTime(this.zone, { disambiguation: 'compatible' }).epochMilliseconds;
  }

  private stretchAt(instant: number): Stretch {
    const { from, end } = this.stretch;
    if (instant < from || instant >= end) {
      const zoned = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(this.zone);
      const change = zoned.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY;
      this.stretch = { from: instant, end: change, offset: zoned.offsetNanoseconds / 1e6 };
    }
    return this.stretch;
  }
}
