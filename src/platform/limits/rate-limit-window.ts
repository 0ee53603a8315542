const WINDOW_SECONDS = 60;

/** What a limit says to one request. */
export interface Verdict {
  readonly allowed: boolean;
  /** Requests left right now. */
  readonly remaining: number;
  /** Seconds until the window ends, or, for a request that is refused, until the next one is let through. */
  readonly seconds: number;
}

/**
 * What one caller did in one minute. The rate is estimated over the last 60 seconds: this minute's count, and of the
 * minute before the share that still lies within them.
 */
export class RateWindow {
  /** This minute's count in all processes, as of the last exchange with them. */
  private shared = 0;
  /** Ours since then. */
  private ours = 0;
  /** Ours on their way to the others. */
  private leaving = 0;

  constructor(private before: number) {}

  get count(): number {
    return this.shared + this.ours + this.leaving;
  }

  /** What the others do not know yet. */
  get unshared(): number {
    return this.ours;
  }

  /** Counts one request, `elapsed` seconds into the minute, if it is within `limit`. One that is refused does not count. */
  take(limit: number, elapsed: number): Verdict {
    const used = this.before * (1 - elapsed / WINDOW_SECONDS) + this.count;
    if (used + 1 > limit) return { allowed: false, remaining: 0, seconds: this.wait(limit, elapsed) };
    this.ours++;
    const remaining = Math.floor(limit - used - 1);
    return { allowed: true, remaining, seconds: Math.ceil(WINDOW_SECONDS - elapsed) };
  }

  /** Takes one request back that was counted here and belongs elsewhere. */
  giveBack(): void {
    this.ours--;
  }

  /** Takes out what the others are to learn. */
  startSharing(): number {
    this.leaving = this.ours;
    this.ours = 0;
    return this.leaving;
  }

  /** The others learned it; `total` and `before` are what all did in this minute and the one before. */
  shareSucceeded(total: number, before: number): void {
    this.shared = total;
    this.leaving = 0;
    this.before = Math.max(this.before, before);
  }

  shareFailed(): void {
    this.ours += this.leaving;
    this.leaving = 0;
  }

  /** Seconds until one more request is within `limit`, if none comes in between. */
  private wait(limit: number, elapsed: number): number {
    const { count, before } = this;
    const left = WINDOW_SECONDS - elapsed;
    const seconds =
      count + 1 <= limit
        ? WINDOW_SECONDS * (1 - (limit - 1 - count) / before) - elapsed
        : left + WINDOW_SECONDS * (1 - (limit - 1) / count);
    return Math.max(1, Math.ceil(seconds));
  }
}

/** The windows of this minute and the one before, by caller; older ones are forgotten with a stroke. */
export class RateWindows {
  private minute = 0;
  private current = new Map<string, RateWindow>();
  private previous = new Map<string, RateWindow>();

  constructor(private readonly most: number) {}

  /** The caller's window at `now` (milliseconds since 1970); where there are too many, the oldest goes. */
  at(caller: string, now: number): RateWindow {
    this.turnTo(minuteOf(now));
    const known = this.current.get(caller);
    if (known) return known;
    const window = new RateWindow(this.previous.get(caller)?.count ?? 0);
    this.current.set(caller, window);
    if (this.current.size > this.most) {
      const [oldest] = this.current.keys();
      this.current.delete(oldest ?? '');
    }
    return window;
  }

  private turnTo(minute: number): void {
    if (minute === this.minute) return;
    this.previous = minute === this.minute + 1 ? this.current : new Map();
    this.current = new Map();
    this.minute = minute;
  }
}

export const minuteOf = (now: number): number => Math.floor(now / (WINDOW_SECONDS * 1000));

/** Seconds into the minute. */
export const elapsedAt = (now: number): number => (now / 1000) % WINDOW_SECONDS;
