import { PoolThread, type Task, TookTooLong } from './pool-thread.js';

export { type Task, TookTooLong };

/** There is too much to do: a call waited for too long, or too many wait already. */
export class PoolBusy extends Error {}

export interface PoolOptions {
  /** Threads at most. */
  size: number;
  /** Calls that wait at most; default 64. */
  maxWaiting?: number;
  /** Longest wait of a call; default 5 s. */
  waitMs?: number;
  /** A thread without work ends after this; default 30 s. */
  idleMs?: number;
  /** Heap of a thread; default 256. */
  memoryMb?: number;
}

/** A call that waits for a thread. */
interface Turn {
  begin(): void;
  refuse(error: Error): void;
}

/** Worker threads that run functions of modules, each call within a deadline. */
export class WorkerPool {
  private readonly idle: PoolThread[] = [];
  private readonly all = new Set<PoolThread>();
  private readonly waiting: Turn[] = [];
  private running = 0;
  private closed = false;
  private idleTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: PoolOptions) {}

  /**
   * The result of `task` for `input`. Rejects with TookTooLong after `ms` of work, with PoolBusy where it cannot begin.
   *
   * @param waitMs for a call that should rather wait than fail: how long, however many wait already
   */
  async run<T>(task: Task, input: unknown, ms: number, waitMs?: number): Promise<T> {
    if (this.closed) throw new PoolBusy('The pool is closed');
    if (this.running < this.options.size) this.running++;
    else await this.nextTurn(waitMs);
    const thread = this.takeThread();
    try {
      return (await thread.call(task, input, ms)) as T;
    } finally {
      this.giveBack(thread);
      // The place goes to who has waited longest.
      const next = this.waiting.shift();
      if (next) next.begin();
      else this.running--;
      if (this.running === 0) this.endLater();
    }
  }

  /** Ends all threads; calls that are under way fail. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.idleTimer);
    for (const { refuse } of this.waiting.splice(0)) refuse(new PoolBusy('The pool is closed'));
    await Promise.all([...this.all].map(thread => thread.end()));
  }

  private nextTurn(patience: number | undefined): Promise<void> {
    const { maxWaiting = 64, waitMs = 5000 } = this.options;
    if (patience === undefined && this.waiting.length >= maxWaiting)
      throw new PoolBusy('Too many calls are waiting');
    return new Promise((resolve, reject) => {
      const settle = (done: () => void) => {
        clearTimeout(timer);
        done();
      };
      const turn: Turn = {
        begin: () => settle(resolve),
        refuse: error => settle(() => reject(error)),
      };
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(turn), 1);
        reject(new PoolBusy('No thread was free in time'));
      }, patience ?? waitMs);
      this.waiting.push(turn);
    });
  }

  private takeThread(): PoolThread {
    clearTimeout(this.idleTimer);
    for (let thread = this.idle.pop(); thread; thread = this.idle.pop()) {
      if (!thread.lost) return thread;
      this.all.delete(thread);
    }
    const made = new PoolThread(this.options.memoryMb ?? 256);
    this.all.add(made);
    return made;
  }

  private giveBack(thread: PoolThread): void {
    if (thread.lost) this.all.delete(thread);
    else this.idle.push(thread);
  }

  private endLater(): void {
    clearTimeout(this.idleTimer);
    if (!this.closed)
      this.idleTimer = setTimeout(() => this.endIdle(), this.options.idleMs ?? 30_000).unref();
  }

  private endIdle(): void {
    for (const thread of this.idle.splice(0)) {
      this.all.delete(thread);
      void thread.end();
    }
  }
}
