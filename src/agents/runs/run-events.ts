import { Injectable } from '@nestjs/common';
import type { TurnOf } from '../../platform/concurrency/index.js';
import type { ServerEvent } from '../../platform/streams/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import { LAST_EVENTS } from './run-event.entity.js';
import { RunEventPages } from './run-event-pages.js';
import { runTopic } from './run-state.js';

import { RunsStore } from './runs.store.js';

/** Most rows that are looked at for a page of events. */
const MAX_ROWS = 500;
const MIN_ROWS = 8;

/** The events of runs, as many times as they are asked for. */
@Injectable()
export class RunEvents {
  constructor(
    private readonly runs: RunsStore,
    private readonly pages: RunEventPages,
    private readonly topics: Topics,
  ) {}

  /** Those of a run after number `after`, then each that follows, in batches; ends with the run. */
  async *follow(
    runId: string,
    whose: TurnOf,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<ServerEvent[]> {
    const wakeUp = new Subscription(this.topics, runTopic(runId));
    let seen = after;
    let limit = 64;
    let isOver = false;
    try {
      while (!signal.aborted) {
        const page = await this.pages.read({ runId, after: seen, limit }, whose, signal);
        // A page is cut by its bytes: of large events there is no use in looking at many.
        limit = Math.min(MAX_ROWS, Math.max(MIN_ROWS, page.length * 2));
        if (page.length > 0) yield page;
        seen = page.at(-1)?.id ?? seen;
        if (page.some(({ event }) => LAST_EVENTS.some(last => last === event))) return;
        if (page.length > 0) continue;
        // Ended, or gone, and still nothing to read after we knew it: nothing will follow.
        if (isOver) return;
        isOver = !(await this.runs.isPending(runId));
        if (!isOver) await wakeUp.wait(signal);
      }
    } catch (error) {
      // Who left while waiting for a turn misses nothing.
      if (!signal.aborted) throw error;
    } finally {
      wakeUp.close();
    }
  }
}
