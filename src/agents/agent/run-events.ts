import type { ServerEvent } from '../../platform/http/sse.js';
import type { Signals } from '../../platform/signals/signals.js';
import { WakeUp } from '../../platform/signals/wake-up.js';
import { LAST_EVENTS } from './run-event.entity.js';
import { runTopic } from './run-journal.js';
import type { RunsStore } from './runs.store.js';

const EVENTS_AT_ONCE = 500;

/** The events of one run, as many times as they are asked for. */
export class RunEvents {
  constructor(
    private readonly runs: RunsStore,
    private readonly signals: Signals,
    private readonly runId: string,
  ) {}

  /** Those after number `after`, then each that follows, in batches; ends with the run. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<ServerEvent[]> {
    const wakeUp = new WakeUp(this.signals, runTopic(this.runId));
    let seen = after;
    let isOver = false;
    try {
      while (!signal.aborted) {
        const rows = await this.runs.events(this.runId, seen, EVENTS_AT_ONCE);
        if (rows.length > 0) yield rows.map(({ id, type, data }) => ({ id, event: type, data }));
        seen = rows.at(-1)?.id ?? seen;
        if (rows.some(({ type }) => LAST_EVENTS.includes(type))) return;
        if (rows.length > 0) continue;
        // Ended, or gone, and still nothing to read after we knew it: nothing will follow.
        if (isOver) return;
        isOver = (await this.runs.find(this.runId))?.status !== 'pending';
        if (!isOver) await wakeUp.wait(signal);
      }
    } finally {
      wakeUp.close();
    }
  }
}
