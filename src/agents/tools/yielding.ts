/** A command that is asked to make way has that long to end by itself. */
const GRACE_MS = 3_000;

/** Ends a command that is asked to make way, unless it ends by itself soon. */
export class Yielding {
  private readonly over = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private readonly begin = () => {
    this.timer = setTimeout(() => this.over.abort(), GRACE_MS);
  };

  constructor(private readonly asked: AbortSignal | undefined) {
    if (asked?.aborted) this.begin();
    else asked?.addEventListener('abort', this.begin, { once: true });
  }

  /** Aborted when its time is over. */
  get signal(): AbortSignal {
    return this.over.signal;
  }

  release(): void {
    clearTimeout(this.timer);
    this.asked?.removeEventListener('abort', this.begin);
  }
}
