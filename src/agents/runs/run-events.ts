import { Injectable } from '@nestjs/common';
import type { TurnOf } from '../../platform/concurrency/index.js';
import type { EventLog, LogPage } from '../../platform/streams/index.js';
import { RunEventPages } from './run-event-pages.js';
import { LAST_EVENTS } from './run-event-type.js';
import { runTopic } from './run-state.js';
import { RunsStore } from './runs.store.js';

/** Most rows that are looked at for a page of events. */
const MAX_ROWS = 500;
const MIN_ROWS = 8;
const FIRST_ROWS = 64;

/** The events of runs, as many times as they are asked for. */
@Injectable()
export class RunEvents {
  constructor(
    private readonly runs: RunsStore,
    private readonly pages: RunEventPages,
  ) {}

  /** The log of a run, for one reader. It ends with the run. */
  of(runId: string, whose: TurnOf): EventLog {
    let limit = FIRST_ROWS;
    const page = async (after: number, signal: AbortSignal) => {
      const events = await this.pages.read({ runId, after, limit }, whose, signal);
      // A page is cut by its bytes: of large events there is no use in looking at many.
      limit = Math.min(MAX_ROWS, Math.max(MIN_ROWS, events.length * 2));
      return events;
    };
    const read = async (after: number, signal: AbortSignal): Promise<LogPage> => {
      const events = await page(after, signal);
      if (events.length > 0) return { events, isLast: events.some(isLastEvent) };
      if (await this.runs.isPending(runId)) return { events };
      // Ended, or gone: what is not there by now will not follow.
      const rest = await page(after, signal);
      return { events: rest, isLast: rest.length === 0 || rest.some(isLastEvent) };
    };
    return { topic: runTopic(runId), read };
  }
}

const isLastEvent = ({ event }: { event: string }): boolean => LAST_EVENTS.some(last => last === event);
