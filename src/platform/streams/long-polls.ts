import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { dryRun } from '../database/index.js';
import { Subscription, type Topic, Topics } from '../topics/index.js';

/** Holds requests until the state that their callers wait for. */
@Injectable()
export class LongPolls implements BeforeApplicationShutdown {
  private readonly closing = new AbortController();

  constructor(private readonly topics: Topics) {}

  /** Waiting callers get the current state, and ask again elsewhere. */
  beforeApplicationShutdown(): void {
    this.closing.abort();
  }

  /** Reads again at each publication of `topic`, until `isDone` or for `seconds`. Returns the last result. */
  async wait<T>(
    topic: Topic,
    seconds: number,
    read: () => Promise<T>,
    isDone: (now: T) => boolean,
  ): Promise<T> {
    const limit = AbortSignal.any([AbortSignal.timeout(seconds * 1000), this.closing.signal]);
    const wakeUp = new Subscription(this.topics, topic);
    try {
      for (;;) {
        const now = await read();
        if (isDone(now) || seconds === 0 || limit.aborted || dryRun()) return now;
        await wakeUp.wait(limit);
      }
    } finally {
      wakeUp.close();
    }
  }
}
