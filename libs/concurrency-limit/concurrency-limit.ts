/** How long a caller waits before it is refused. */
const MAX_WAIT_MS = 10_000;

interface Turn {
  /** So much may run at once for each key. */
  readonly key?: string;
  /**
   * For whom it is, the widest group first: turns go round among those, and in each among the narrower ones. Absent: those
   * who wait are served in the order in which they came.
   */
  readonly whose?: readonly string[];
  /** Who waits leaves the line when it is aborted, with its reason. */
  readonly signal?: AbortSignal;
}

/** It was not its turn in time; nothing of it was done. */
export class LimitReached extends Error {}

/** Lets so much work run at once in this process; the rest waits in line. */
export class ConcurrencyLimit {
  private readonly lines = new Map<string, Line>();

  /**
   * @param what what there is too much of, as in "8 searches run in this workspace": who waits too long is refused;
   * absent: they wait on
   */
  constructor(
    private readonly max: number,
    private readonly what?: string,
    private readonly maxWaitMs = MAX_WAIT_MS,
  ) {}

  /** Resolves when its turn has come, with what ends it; calling that twice is harmless. */
  async acquire({ key = '', whose = [], signal }: Turn = {}): Promise<() => void> {
    const line = this.lines.get(key) ?? new Line();
    this.lines.set(key, line);
    const groups = whose.map((_, index) => whose.slice(0, index + 1).join(' '));
    if (line.running < this.max) line.begin(groups);
    else await this.wait(line, groups, signal);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      line.end(groups);
      if (line.running === 0) this.lines.delete(key);
    };
  }

  async run<T>(work: () => Promise<T>, turn?: Turn): Promise<T> {
    const release = await this.acquire(turn);
    try {
      return await work();
    } finally {
      release();
    }
  }

  private wait(line: Line, groups: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const settle = (done: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        done();
      };
      const leave = (error: unknown) => {
        line.leave(waiting);
        settle(() => reject(error));
      };
      const onAbort = () => leave(signal?.reason);
      const timer =
        this.what === undefined ? undefined : setTimeout(() => leave(this.refusal()), this.maxWaitMs);
      const waiting: Waiting = { groups, go: () => settle(resolve) };
      signal?.addEventListener('abort', onAbort, { once: true });
      line.join(waiting);
    });
  }

  private refusal(): LimitReached {
    return new LimitReached(`${this.max} ${this.what} at once, and no more may; wait for one to end`);
  }
}

interface Waiting {
  /** The widest first. */
  readonly groups: readonly string[];
  go(): void;
}

/**
 * What runs and waits under one key. The next is of the group that has the least running, and in it of the narrower
 * group; among equals of the one whose last turn is longest ago, and then who came first.
 */
class Line {
  running = 0;
  private readonly waiting: Waiting[] = [];
  private readonly runningOf = new Map<string, number>();
  /** Of groups, as a count of turns. */
  private readonly lastTurn = new Map<string, number>();
  private turns = 0;

  begin(groups: readonly string[]): void {
    this.running++;
    for (const group of groups) {
      this.runningOf.set(group, (this.runningOf.get(group) ?? 0) + 1);
      this.lastTurn.set(group, ++this.turns);
    }
  }

  join(one: Waiting): void {
    this.waiting.push(one);
  }

  leave(one: Waiting): void {
    this.waiting.splice(this.waiting.indexOf(one), 1);
  }

  end(groups: readonly string[]): void {
    this.running--;
    for (const group of groups) {
      const left = (this.runningOf.get(group) ?? 1) - 1;
      if (left > 0) this.runningOf.set(group, left);
      else this.runningOf.delete(group);
    }
    const [first, ...others] = this.waiting;
    if (!first) {
      this.lastTurn.clear();
      return;
    }
    const next = others.reduce((best, one) => (this.isBefore(one, best) ? one : best), first);
    this.leave(next);
    this.begin(next.groups);
    next.go();
  }

  private isBefore(a: Waiting, b: Waiting): boolean {
    const [rankA, rankB] = [this.rankOf(a), this.rankOf(b)];
    const place = rankA.findIndex((rank, index) => rank !== rankB[index]);
    return place >= 0 && (rankA[place] ?? 0) < (rankB[place] ?? 0);
  }

  private rankOf({ groups }: Waiting): number[] {
    return groups.flatMap(group => [this.runningOf.get(group) ?? 0, this.lastTurn.get(group) ?? 0]);
  }
}
