import type { NewEvent } from './run-journal.js';

/** Text that streams is written down in pieces at most this often: one row a token would drown the database. */
const PAUSE_MS = 40;
const MOST_CHARACTERS = 16_384;

type StreamedType = 'text.delta' | 'reasoning.delta' | 'tool.output';

/**
 * Gathers streamed text into events. The first piece is written at once, what follows while a write or a pause is under
 * way goes together; so a reader sees text early and the database few rows.
 */
export class DeltaWriter {
  private pending: NewEvent[] = [];
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private fault: unknown;

  constructor(
    private readonly write: (events: NewEvent[]) => Promise<void>,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** Adds text; `about` names what it belongs to (a step, a tool call). */
  add(type: StreamedType, text: string, about: Record<string, unknown>): void {
    if (this.fault !== undefined) return;
    const last = this.pending.at(-1);
    const joins = last?.type === type && sameAs(last.data, about) && String(last.data.text).length < MOST_CHARACTERS;
    if (last && joins) last.data.text = `${last.data.text}${text}`;
    else this.pending.push({ type, data: { ...about, text } });
    this.schedule();
  }

  /** Forgets what is not yet written. */
  discard(): void {
    this.pending = [];
  }

  /** Waits until all that was added is written; throws what kept it from being. */
  async settle(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    while (this.writing || this.pending.length > 0) {
      this.writing ??= this.flush();
      await this.writing;
    }
    if (this.fault !== undefined) throw this.fault;
  }

  private schedule(): void {
    if (this.writing || this.timer) return;
    this.writing = this.flush();
  }

  private async flush(): Promise<void> {
    const events = this.pending;
    this.pending = [];
    try {
      if (events.length > 0) await this.write(events);
    } catch (error) {
      this.fault = error;
      this.pending = [];
      this.onFault(error);
    }
    this.writing = undefined;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.pending.length > 0) this.schedule();
    }, PAUSE_MS);
  }
}

function sameAs(data: Record<string, unknown>, about: Record<string, unknown>): boolean {
  return Object.entries(about).every(([key, value]) => data[key] === value);
}
