import { setMaxListeners } from 'node:events';
import { Processor, WorkerHost } from '@nestjs/bullmq';
import {
  BeforeApplicationShutdown,
  OnApplicationBootstrap,
  OnModuleDestroy,
  OnModuleInit,
} from '@nestjs/common';
import { type Job, WaitingError } from 'bullmq';
import { QUERY_MS, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import { Config } from '../../platform/config/index.js';
import { workerOptions } from '../../platform/jobs/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log, withLogContext } from '../../platform/log/index.js';
import { DrainTimer } from '../../platform/schedule/index.js';
import { RunExecution } from './run-execution.js';
import { type ClaimedRun, RUNS, RunQueue, type WorkerSlot } from './run-queue.store.js';
import { SUSPECT } from './run-turns.store.js';

/** How long the answer to a claim may be on its way. */
const UNKNOWN_MS = 5_000;

/**
 * Executes runs in this process, so many at once, and releases them when the process shuts down. The queue says when to look
 * for runs that wait; which are executed here, their rows decide.
 */
@Processor(RUNS, workerOptions({ concurrency: 1 }))
export class RunWorker
  extends WorkerHost
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private readonly stopping = new AbortController();
  /** With the ids of the runs. */
  private readonly executing = new Map<Promise<void>, string>();
  /** Runs that this process has claimed by the database and does not execute, and when that was first seen. */
  private unknown = new Map<string, number>();
  private claiming: Promise<void> | undefined;
  private reserved = 0;
  private mayBeMore = false;
  private isOpen = false;
  /** Others are to take what comes by the queue. */
  private isPaused = false;

  constructor(
    private readonly execution: RunExecution,
    private readonly queue: RunQueue,
    private readonly leases: Leases,
    private readonly config: Config,
    private readonly drain: DrainTimer,
    private readonly log: Log,
  ) {
    super();
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
    this.queue.serve(() => this.reserve());
    this.look();
    this.resume();
  }

  onModuleDestroy(): void {
    this.isOpen = false;
  }

  /** Waits a while for the runs in flight, and releases the rest. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.claiming;
    await this.drain.wait(this.executing.keys());
    this.stopping.abort(new Error('The service is stopping'));
    await Promise.all(this.executing.keys());
  }

  /**
   * Where the connection breaks right after a claim, this process has a run without knowing. What is found so for a while is
   * released; if it is executed after all, its newer attempt keeps this one from writing.
   */
  private async recoverOwn(): Promise<void> {
    const executing = new Set(this.executing.values());
    const now = performance.now();
    const unknown = (await this.queue.claimed()).filter(id => !executing.has(id));
    this.unknown = new Map(unknown.map(id => [id, this.unknown.get(id) ?? now]));
    const lost = unknown.filter(id => now - (this.unknown.get(id) ?? now) >= UNKNOWN_MS);
    if (lost.length === 0) return;
    this.log.warn({ runs: lost }, 'orphaned claims of this process were released');
    await this.queue.releaseOwn(lost);
  }

  /** Claims what is runnable, now or when a slot is free. */
  private look(): void {
    this.mayBeMore = true;
    if (!this.isOpen || this.room === 0) return;
    this.claiming ??= this.claimAll().finally(() => {
      this.claiming = undefined;
    });
  }

  /** A run waits for a worker. Where this process has no room, it leaves that to others. */
  override async process(job: Job, token?: string): Promise<void> {
    if (!this.isOpen || this.room === 0) {
      this.isPaused = true;
      await this.worker.pause(true);
      this.resume();
      await job.moveToWait(token);
      throw new WaitingError();
    }
    this.look();
    await this.claiming;
  }

  /** There may be room again. */
  private resume(): void {
    if (!this.isPaused || !this.isOpen || this.room === 0) return;
    this.isPaused = false;
    this.worker.resume();
  }

  private get room(): number {
    return Math.max(0, this.config.runConcurrency - this.executing.size - this.reserved);
  }

  /** Those that wait already come first. */
  private reserve(): WorkerSlot | undefined {
    if (!this.isOpen || this.mayBeMore || this.room === 0) return undefined;
    this.reserved++;
    const release = () => {
      this.reserved--;
      if (this.mayBeMore) this.look();
      this.resume();
    };
    const begin = (run: ClaimedRun) => {
      this.reserved--;
      this.begin(run);
    };
    return { processId: this.leases.processId, begin, release };
  }

  private async claimAll(): Promise<void> {
    try {
      while (this.isOpen && this.mayBeMore && this.room > 0) {
        const { room } = this;
        this.mayBeMore = false;
        const runs = await this.queue.claim(room);
        for (const run of runs) this.begin(run);
        if (runs.length === room) this.mayBeMore = true;
      }
    } catch (error) {
      // Looked for again by the next round.
      this.log.warn({ err: error }, 'claiming runs failed; trying again');
    }
  }

  private begin(run: ClaimedRun): void {
    const work = withLogContext({ run_id: run.id }, () =>
      withQueryDeadline(QUERY_MS, () => this.execution.execute(run, this.stopping.signal)),
    )
      .catch((error: unknown) => this.log.error({ err: error }, 'executing a run failed'))
      .finally(() => {
        this.executing.delete(work);
        // The next of those that are executed alone may have its turn.
        if (this.mayBeMore || run.lost >= SUSPECT) this.look();
        this.resume();
      });
    this.executing.set(work, run.id);
  }
}
