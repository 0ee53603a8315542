import { Subscription, type Topic, type Topics } from '../topics/index.js';
import type { ServerEvent } from './server-event.js';

/** What was read of a log. */
export interface LogPage {
  readonly events: readonly ServerEvent[];
  /** Nothing will follow. */
  readonly isLast?: boolean;
  /** There may be more at once, though nothing was found here. */
  readonly isAgain?: boolean;
  /** Milliseconds after which there may be more, though nobody says so. */
  readonly moreIn?: number;
}

/** Events that are only ever added, under numbers that rise. One is made for each reader and may remember where that is. */
export interface EventLog {
  /** What says that there may be more; looked at before each read. */
  readonly topic: Topic;
  /** The events after number `after` in order, as many as one page takes. */
  read(after: number, signal: AbortSignal): Promise<LogPage>;
}

/** The events after number `after`, then each that follows, a page at a time, to the end of the log or until `signal` is aborted. */
export async function* follow(
  log: EventLog,
  topics: Topics,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<readonly ServerEvent[]> {
  let { topic } = log;
  let subscription = new Subscription(topics, topic);
  let seen = after;
  try {
    while (!signal.aborted) {
      if (log.topic !== topic) {
        subscription.close();
        ({ topic } = log);
        subscription = new Subscription(topics, topic);
      }
      const { events, isLast, isAgain, moreIn } = await log.read(seen, signal);
      if (events.length > 0) yield events;
      seen = events.at(-1)?.id ?? seen;
      if (isLast) return;
      if (events.length > 0 || isAgain) continue;
      const timer = moreIn === undefined ? undefined : setTimeout(() => subscription.wake(), moreIn);
      await subscription.wait(signal);
      clearTimeout(timer);
    }
  } catch (error) {
    // Who left while a page was read misses nothing.
    if (!signal.aborted) throw error;
  } finally {
    subscription.close();
  }
}
