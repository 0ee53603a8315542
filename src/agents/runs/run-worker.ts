import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { QUERY_MS, withQueryDeadline } from '../../platform/database/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log, withLogContext } from '../../platform/log/index.js';
import { Topics } from '../../platform/topics/index.js';
import { type Place, RunQueue, type TakenRun } from './run-queue.js';
import { RUNS_DUE } from './run-state.js';
import { SUSPECT } from './run-turns.js';

/** How long the answer to a claim may be on its way. */
const UNKNOWN_MS = 5_000;

/** Works on a claimed run until it has ended, waits, or `stopping` is aborted. */
export type ExecuteRun = (run: TakenRun, stopping: AbortSignal) => Promise<void>;

/** The port by which a worker hands a claimed run to whatever works on it: see `agents/turns`. */
@Injectable()
export class RunExecutor {
  execute: ExecuteRun = () => Promise.reject(new Error('Nothing executes runs'));

  register(execute: ExecuteRun): void {
    this.execute = execute;
  }
}

/** Carries runs in this process, so many at once, and gives them back when the process is told to stop. */
@Injectable()
export class RunWorker implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  /** With the ids of the runs. */
  private readonly carried = new Map<Promise<void>, string>();
  /** Runs that this process holds by the database and does not carry, and when that was first seen. */
  private unknown = new Map<string, number>();
  private taking: Promise<void> | undefined;
  private reserved = 0;
  private mayBeMore = false;
  private isOpen = false;

  constructor(
    private readonly executor: RunExecutor,
    private readonly queue: RunQueue,
    private readonly leases: Leases,
    private readonly topics: Topics,
    private readonly config: Config,
    private readonly log: Log,
  ) {
    setMaxListeners(0, this.stopping.signal);
  }

  onModuleInit(): void {
    if (!this.config.runsJobs) return;
    this.leases.recover('run', async () => {
      await this.queue.recover();
      await this.recoverOwn();
      this.look();
    });
  }

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.isOpen = true;
    this.topics.subscribe(RUNS_DUE, () => this.look());
    this.queue.serve(() => this.reserve());
    this.look();
  }

  /** Takes no more runs, waits a while for those in flight, and hands the rest back to the queue. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isOpen = false;
    await this.taking;
    const patience = new AbortController();
    const waited = sleep(this.config.drainSeconds * 1000, undefined, { signal: patience.signal }).catch(
      () => undefined,
    );
    await Promise.race([Promise.all(this.carried.keys()), waited]);
    patience.abort();
    this.stopping.abort(new Error('The service is stopping'));
    await Promise.all(this.carried.keys());
  }

  /**
   * Where the connection breaks right after a run was claimed, this process holds it without knowing. What is found so
   * for a while is released; if it is carried after all, its newer attempt keeps this one from writing.
   */
  private async recoverOwn(): Promise<void> {
    const carried = new Set(this.carried.values());
    const now = performance.now();
    const unknown = (await this.queue.claimed()).filter(id => !carried.has(id));
    this.unknown = new Map(unknown.map(id => [id, this.unknown.get(id) ?? now]));
    const lost = unknown.filter(id => now - (this.unknown.get(id) ?? now) >= UNKNOWN_MS);
    if (lost.length === 0) return;
    this.log.warn({ runs: lost }, 'runs that this process held without knowing are taken up again');
    await this.queue.letGo(lost);
  }

  /** Takes what is due, now or when there is room for it. */
  private look(): void {
    this.mayBeMore = true;
    if (!this.isOpen || this.room === 0) return;
    this.taking ??= this.takeAll().finally(() => {
      this.taking = undefined;
    });
  }

  private get room(): number {
    return Math.max(0, this.config.runConcurrency - this.carried.size - this.reserved);
  }

  /** Those that wait already come first. */
  private reserve(): Place | undefined {
    if (!this.isOpen || this.mayBeMore || this.room === 0) return undefined;
    this.reserved++;
    const free = () => {
      this.reserved--;
      if (this.mayBeMore) this.look();
    };
    const begin = (run: TakenRun) => {
      this.reserved--;
      this.carry(run);
    };
    return { holder: this.leases.processId, begin, free };
  }

  private async takeAll(): Promise<void> {
    try {
      while (this.isOpen && this.mayBeMore && this.room > 0) {
        const { room } = this;
        this.mayBeMore = false;
        const runs = await this.queue.take(room);
        for (const run of runs) this.carry(run);
        if (runs.length === room) this.mayBeMore = true;
      }
    } catch (error) {
      // Looked for again by the next round.
      this.log.warn({ err: error }, 'runs that are due cannot be looked for');
    }
  }

  private carry(run: TakenRun): void {
    const work = withLogContext({ run_id: run.id }, () =>
      withQueryDeadline(QUERY_MS, () => this.executor.execute(run, this.stopping.signal)),
    )
      .catch((error: unknown) => this.log.error({ err: error }, 'a run could not be carried on'))
      .finally(() => {
        this.carried.delete(work);
        // The next of those that are carried alone may have its turn.
        if (this.mayBeMore || run.lost >= SUSPECT) this.look();
      });
    this.carried.set(work, run.id);
  }
}
