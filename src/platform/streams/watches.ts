import { Injectable } from '@nestjs/common';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import {
  type Actor,
  accessTopic,
  Credentials,
  credentialTopic,
  workspaceAccessTopic,
} from '../access/index.js';
import { Subscription, type Topic, Topics } from '../topics/index.js';

/** How old the last answer may be to the question whether a reader still may, when there is something to read. */
const PRECISION_MS = 10_000;
/** The longest time that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Who reads, and what. */
export interface Reader {
  readonly actor: Actor;
  readonly workspaceId: string | null;
  /** Throws where they may not, as it is now. */
  readonly require: () => Promise<unknown>;
}

/**
 * Whether a reader may still read: a stream outlives the credential and the role that it was opened with. Checked when either
 * may have changed, and when the last check is old.
 */
export class AccessWatch {
  private readonly lost = new AbortController();
  private asked = Date.now();
  private asking: Promise<void> | undefined;
  /** Something may have changed since it was asked. */
  private isDoubtful = false;
  private readonly unsubscribe: (() => void)[];
  private readonly expiry: NodeJS.Timeout | undefined;

  constructor(
    topics: Topics,
    private readonly credentials: Pick<Credentials, 'stands'>,
    private readonly reader: Reader,
  ) {
    const { actor, workspaceId } = reader;
    const watched = [accessTopic(actor.id), credentialTopic(actor.credential.id)];
    if (workspaceId) watched.push(workspaceAccessTopic(workspaceId));
    this.unsubscribe = watched.map(topic => topics.subscribe(topic, () => void this.ask()));
    this.expiry = atExpiry(actor, () => void this.ask());
  }

  /** Aborted when they may not any more. */
  get signal(): AbortSignal {
    return this.lost.signal;
  }

  /** Whether they have to be asked for before they read on. */
  get isStale(): boolean {
    return this.asking !== undefined || Date.now() - this.asked > PRECISION_MS;
  }

  /** Asks now, or once more where an answer under way may come too early to count. */
  ask(): Promise<void> {
    this.isDoubtful = true;
    this.asking ??= this.askWhileDoubtful().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  close(): void {
    clearTimeout(this.expiry);
    for (const end of this.unsubscribe) end();
  }

  private async askWhileDoubtful(): Promise<void> {
    while (this.isDoubtful && !this.lost.signal.aborted) {
      this.isDoubtful = false;
      this.asked = Date.now();
      if (!(await this.mayRead())) this.lost.abort();
    }
  }

  /** Where the check fails they may not: their client reconnects and is checked again. */
  private async mayRead(): Promise<boolean> {
    try {
      await this.reader.require();
      return await this.credentials.stands(this.reader.actor.credential);
    } catch {
      return false;
    }
  }
}

/** Asks when the credential runs out: a key does by itself; a session and a grant are renewed. */
function atExpiry({ credential }: Actor, ask: () => void): NodeJS.Timeout | undefined {
  if (credential.type !== 'api_key' || !credential.expires_at) return undefined;
  const left = Date.parse(credential.expires_at) - Date.now();
  return left > MAX_TIMER_MS ? undefined : setTimeout(ask, Math.max(0, left) + 1).unref();
}

/** What was read of a log. */
export interface LogPage {
  readonly events: readonly ServerEvent[];
  /** Nothing will follow. */
  readonly isLast?: boolean;
  /** These are the newest: the topic is published when there is more. */
  readonly isCaughtUp?: boolean;
  /** There may be more at once, though nothing was found here. */
  readonly isAgain?: boolean;
  /** Milliseconds after which there may be more without a notification. */
  readonly moreIn?: number;
}

/** Events that are only ever added, under numbers that rise. One is made for each reader and may remember where that is. */
export interface EventLog {
  /** What says that there may be more; looked at before each read. */
  readonly topic: Topic;
  /** The events after number `after` in order, as many as one page takes. */
  read(after: number, signal: AbortSignal): Promise<LogPage>;
  /**
   * The event that ended it, of a log that ends without one in `read`: sent again to who resumes at or behind it. A stream that
   * closes without an event is taken for a broken connection, and its client comes back for ever.
   */
  end?(): Promise<ServerEvent | undefined>;
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
  let isSilent = true;
  try {
    while (!signal.aborted) {
      if (log.topic !== topic) {
        subscription.close();
        ({ topic } = log);
        subscription = new Subscription(topics, topic);
      }
      const { events, isLast, isCaughtUp, isAgain, moreIn } = await log.read(seen, signal);
      if (events.length > 0) {
        isSilent = false;
        yield events;
      }
      seen = events.at(-1)?.id ?? seen;
      if (isLast) {
        const end = isSilent ? await log.end?.() : undefined;
        if (end) yield [end];
        return;
      }
      if ((events.length > 0 && !isCaughtUp) || isAgain) continue;
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

/** What a capability lets its caller watch. */
export interface Watched {
  /** The workspace that it belongs to. */
  readonly workspaceId: string | null;
  readonly log: EventLog;
}

/** A log that is open to one reader. */
export interface Watch {
  /** Its events after number `after`, until its end, or until the reader may not read on or `signal` is aborted. */
  follow(after: number, signal: AbortSignal): AsyncIterable<readonly ServerEvent[]>;
}

/** Lets people and programs watch logs of events, for as long as they may. */
@Injectable()
export class Watches {
  constructor(
    private readonly topics: Topics,
    private readonly credentials: Credentials,
  ) {}

  /** Opens what `open` gives, which refuses who may not watch, and is asked again whenever they may have lost that. */
  async open(actor: Actor, open: () => Promise<Watched>): Promise<Watch> {
    const { workspaceId, log } = await open();
    const reader = { actor, workspaceId, require: open };
    return { follow: (after, signal) => this.follow(reader, log, after, signal) };
  }

  /** For what is no log: aborted when the reader may not go on. */
  accessOf(reader: Reader): AccessWatch {
    return new AccessWatch(this.topics, this.credentials, reader);
  }

  private async *follow(
    reader: Reader,
    log: EventLog,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ServerEvent[]> {
    const access = this.accessOf(reader);
    try {
      const ends = AbortSignal.any([signal, access.signal]);
      for await (const events of follow(log, this.topics, after, ends)) {
        if (access.isStale) await access.ask();
        if (ends.aborted) return;
        yield events;
      }
    } finally {
      access.close();
    }
  }
}
