import { TooManyRequests } from '../../platform/errors/index.js';

/** There was no place for it in time; nothing of it was done. */
export class NoPlace extends TooManyRequests {}

/** Somebody who waits for a place. */
interface Waiting {
  begin(): void;
}

interface Line {
  held: number;
  readonly waiting: Waiting[];
}

/** How long somebody waits for a place before they are told to come again. */
const PATIENCE_MS = 10_000;

/** So many at once for each key; those beyond wait for a while, in their order, and are refused (429) then. */
export class WorkSlots {
  private readonly lines = new Map<string, Line>();

  /** @param what what there are too many of, as in "8 searches run in this workspace" */
  constructor(
    private readonly most: number,
    private readonly what: string,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  /** A place, which is given back by what this resolves with; calling that twice is harmless. */
  async acquire(key: string, signal?: AbortSignal): Promise<() => void> {
    const line = this.lines.get(key) ?? { held: 0, waiting: [] };
    this.lines.set(key, line);
    if (line.held < this.most) line.held++;
    else await this.turn(line, signal);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.giveBack(key, line);
    };
  }

  async use<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(key, signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** The place goes from who ends to who has waited longest. */
  private giveBack(key: string, line: Line): void {
    const next = line.waiting.shift();
    if (next) next.begin();
    else line.held--;
    if (line.held === 0) this.lines.delete(key);
  }

  private turn(line: Line, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (done: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        done();
      };
      const one: Waiting = { begin: () => settle(resolve) };
      const leave = (error: unknown) => {
        line.waiting.splice(line.waiting.indexOf(one), 1);
        settle(() => reject(error));
      };
      const onAbort = () => leave(signal?.reason);
      const timer = setTimeout(() => leave(this.refusal()), this.patienceMs);
      if (signal?.aborted) return settle(() => reject(signal.reason));
      signal?.addEventListener('abort', onAbort, { once: true });
      line.waiting.push(one);
    });
  }

  private refusal(): NoPlace {
    const detail = `${this.most} ${this.what} at once, and no more may; wait for one to end`;
    return new NoPlace(detail, { 'retry-after': '5' });
  }
}
