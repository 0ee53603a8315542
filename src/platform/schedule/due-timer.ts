import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Log } from '../log/index.js';
import { type Topic, Topics } from '../topics/index.js';

/** A lost notification, or a clock that was set, delays a row by no more than this. */
const MAX_SLEEP_MS = 10_000;
/** Rows that are due and were not taken may be locked by another process for the moment. */
const LOCKED_SLEEP_MS = 200;
const RETRY_MS = 1_000;

export interface DueRows {
  /** The topic that tells of new rows. */
  readonly topic?: Topic;
  /** Takes some of the rows that are due; returns how many, and 0 when nothing is left. */
  readonly take: () => Promise<number>;
  /** Milliseconds until the next row is due, by the clock of the database; undefined where none waits. */
  readonly next?: () => Promise<number | undefined>;
  /** What the log says when either fails. */
  readonly failure: string;
}

/**
 * Takes rows of a table when they are due: when the transaction that adds them commits, or when their time comes. One round at
 * a time in a process; a wake-up during a round starts another one.
 */
export class DueTimer {
  private readonly unsubscribe: () => void;
  private working: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isWanted = false;
  private isClosed = false;

  constructor(
    topics: Topics,
    private readonly log: Log,
    private readonly rows: DueRows,
  ) {
    this.unsubscribe = rows.topic ? topics.subscribe(rows.topic, () => this.wake()) : () => undefined;
    this.wake();
  }

  /** Looks for rows now, or as soon as the round under way has ended. */
  wake(): void {
    this.isWanted = true;
    this.working ??= this.work();
  }

  /** Resolves when the round under way has ended; no row is taken afterwards. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.unsubscribe();
    clearTimeout(this.timer);
    await this.working;
  }

  private async work(): Promise<void> {
    const { take, next = async () => undefined, failure } = this.rows;
    clearTimeout(this.timer);
    let sleepMs = MAX_SLEEP_MS;
    while (this.isWanted && !this.isClosed) {
      this.isWanted = false;
      try {
        while (!this.isClosed && (await take()) > 0);
        const ms = (await next()) ?? MAX_SLEEP_MS;
        // What is no number, as after a fault on the wire, is none to wait for.
        sleepMs = ms < MAX_SLEEP_MS ? ms : MAX_SLEEP_MS;
      } catch (error) {
        this.log.warn({ err: error }, failure);
        sleepMs = RETRY_MS;
      }
    }
    const ms = sleepMs <= 0 ? LOCKED_SLEEP_MS : Math.ceil(sleepMs);
    if (!this.isClosed) this.timer = setTimeout(() => this.wake(), ms).unref();
    this.working = undefined;
  }
}

/** Starts the timers of this process, and stops them with it. */
@Injectable()
export class DueTimers implements BeforeApplicationShutdown {
  private readonly timers: DueTimer[] = [];

  constructor(
    private readonly topics: Topics,
    private readonly log: Log,
  ) {}

  start(rows: DueRows): DueTimer {
    const timer = new DueTimer(this.topics, this.log, rows);
    this.timers.push(timer);
    return timer;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.timers.map(timer => timer.close()));
  }
}
