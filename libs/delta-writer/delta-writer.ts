/** Something that happened; text that streams is in `data.text`. */
export interface StreamedEvent<Type extends string = string> {
  type: Type;
  data: Record<string, unknown>;
}

/** Text that streams is written down in pieces at most this often: one row a token would drown the database. */
const PAUSE_MS = 40;
const MAX_CHARACTERS = 16_384;

/**
 * Gathers streamed text into events. The first pieces, those of one turn of the event loop, are written at its end where
 * anybody watches, else after a pause; what follows while a write or a pause is under way goes together. So a reader sees
 * text early and the database few rows. Writes follow one another in order.
 */
export class DeltaWriter<Type extends string> {
  private pending: StreamedEvent<Type>[] = [];
  private writing: Promise<void> | undefined;
  private pause: NodeJS.Timeout | undefined;
  private soon: NodeJS.Immediate | undefined;
  private fault: { error: unknown } | undefined;

  /** `onFault` is called at once with a write's failure; nothing is written after it. */
  constructor(
    private readonly write: (events: StreamedEvent<Type>[]) => Promise<void>,
    private readonly onFault: (error: unknown) => void,
    private readonly isWatched: () => boolean = () => true,
  ) {}

  /** Adds text; `about` names what it belongs to (a step, a tool call). */
  add(type: Type, text: string, about: Record<string, unknown>): void {
    for (const piece of piecesOf(text)) this.addPiece(type, piece, about);
    if (this.pause || this.writing) return;
    if (this.isWatched()) this.soon ??= setImmediate(() => this.start());
    else this.rest();
  }

  private addPiece(type: Type, text: string, about: Record<string, unknown>): void {
    const last = this.pending.at(-1);
    if (last?.type === type && isAbout(last.data, about) && lengthOf(last) + text.length <= MAX_CHARACTERS)
      last.data.text = `${last.data.text}${text}`;
    else this.pending.push({ type, data: { ...about, text } });
  }

  /** Adds an event that is no text, at its place among the others. */
  put(event: StreamedEvent<Type>): void {
    this.pending.push(event);
    if (!this.pause) this.start();
  }

  /** Forgets what is not yet written and says so by `event`, which comes after all that is. */
  restart(event: StreamedEvent<Type>): void {
    this.pending = [event];
    this.start();
  }

  /** Waits until all that was added is written; throws what kept it from being. */
  async settle(): Promise<void> {
    while (!this.fault && (this.writing || this.pending.length > 0)) {
      this.start();
      await this.writing;
    }
    if (this.fault) throw this.fault.error;
  }

  /** Waits for the write under way and hands over what is left, to be written together with what follows it. */
  async handOver(): Promise<StreamedEvent<Type>[]> {
    this.forgetSoon();
    await this.writing;
    if (this.fault) throw this.fault.error;
    const events = this.pending;
    this.pending = [];
    return events;
  }

  private start(): void {
    this.forgetSoon();
    if (this.writing || this.fault || this.pending.length === 0) return;
    clearTimeout(this.pause);
    this.writing = this.writePending();
  }

  private forgetSoon(): void {
    clearImmediate(this.soon);
    this.soon = undefined;
  }

  private async writePending(): Promise<void> {
    const events = this.pending;
    this.pending = [];
    try {
      await this.write(events);
    } catch (error) {
      this.fault = { error };
      this.onFault(error);
    }
    this.writing = undefined;
    this.rest();
  }

  private rest(): void {
    this.pause = setTimeout(() => {
      this.pause = undefined;
      this.start();
    }, PAUSE_MS).unref();
  }
}

/** No event is large, however much comes at once; no letter that takes two units is cut apart. */
function* piecesOf(text: string): Generator<string> {
  for (let at = 0, end = 0; at < text.length || at === 0; at = end) {
    end = Math.min(text.length, at + MAX_CHARACTERS);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1] ?? '')) end--;
    yield text.slice(at, end);
    if (end === 0) return;
  }
}

function isAbout(data: Record<string, unknown>, about: Record<string, unknown>): boolean {
  return Object.entries(about).every(([key, value]) => data[key] === value);
}

function lengthOf({ data }: StreamedEvent): number {
  return String(data.text).length;
}
