import { Injectable } from '@nestjs/common';
import { type Actor, Credentials } from '../access/index.js';
import { Topics } from '../topics/index.js';
import { AccessWatch, type Reader } from './access-watch.js';
import { type EventLog, follow } from './event-log.js';
import type { ServerEvent } from './server-event.js';

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
