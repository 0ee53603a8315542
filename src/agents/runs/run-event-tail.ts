import { Injectable } from '@nestjs/common';
import { parseJson } from '#libs/exact-json/index.js';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import { storable } from '../../platform/database/index.js';
import { bounded, type NewEvent } from './run-state.js';

/** What is kept of a run, in characters, and of how many runs. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_RUNS = 500;
/** Who follows a run reads what is new at once. */
const KEPT_MS = 5_000;

interface Tail {
  readonly events: ServerEvent[];
  readonly sizes: number[];
  size: number;
  since: number;
}

/**
 * The newest events of runs that this process has written and someone here follows: they are read from memory. They are
 * committed, so all others read the same from the log, and numbers of a run rise by one, so what is missing here is noticed.
 */
@Injectable()
export class RunEventTail {
  /** By run; what was written last is last. */
  private readonly tails = new Map<string, Tail>();

  /** `last` is the number of the last of `events`, which are committed. */
  add(runId: string, last: number, events: readonly NewEvent[]): void {
    const texts = events.map(event => storable(bounded(event)));
    const found = this.tails.get(runId);
    const first = last - events.length + 1;
    const tail =
      found?.events.at(-1)?.id === first - 1 ? found : { events: [], sizes: [], size: 0, since: 0 };
    for (const [at, text] of texts.entries()) {
      const { type: event, data } = parseJson(text) as NewEvent;
      tail.events.push({ id: first + at, event, data });
      tail.sizes.push(text.length);
      tail.size += text.length;
    }
    while (tail.size > MAX_CHARACTERS) {
      tail.events.shift();
      tail.size -= tail.sizes.shift() ?? 0;
    }
    tail.since = Date.now();
    this.tails.delete(runId);
    this.tails.set(runId, tail);
    this.forgetOld();
  }

  /** The events after number `after`, as many as are known here; none where the next one is not. */
  after(runId: string, after: number): readonly ServerEvent[] {
    const { events = [] } = this.tails.get(runId) ?? {};
    const at = after + 1 - (events[0]?.id ?? Number.POSITIVE_INFINITY);
    return at >= 0 ? events.slice(at) : [];
  }

  private forgetOld(): void {
    const oldest = Date.now() - KEPT_MS;
    for (const [runId, { since }] of this.tails) {
      if (since > oldest && this.tails.size <= MAX_RUNS) return;
      this.tails.delete(runId);
    }
  }
}
