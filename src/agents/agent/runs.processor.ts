import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { BeforeApplicationShutdown, Inject, OnApplicationBootstrap } from '@nestjs/common';
import type { Job } from 'bullmq';
import { Config } from '../../platform/config/config.js';
import { Log, withLogContext } from '../../platform/log/log.js';
import { RunLoop } from './run-loop.js';
import { RUN_QUEUE } from './runs.jobs.js';

/**
 * A worker renews its hold on a job every 2.5 s. Where it does not for 5 s it counts as dead, and another takes the run
 * up within two sweeps.
 */
const HOLD_MS = 5_000;

/** Takes runs off the queue, and gives them back when the process is told to stop. */
@Processor(RUN_QUEUE, {
  concurrency: 1,
  lockDuration: HOLD_MS,
  stalledInterval: HOLD_MS,
  // After a fault of the queue's own database.
  runRetryDelay: 1_000,
  // A run counts the workers it lost and ends itself after too many.
  maxStalledCount: 1000,
})
export class RunsProcessor extends WorkerHost implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();

  constructor(
    @Inject(RunLoop) private readonly loop: RunLoop,
    @Inject(Config) private readonly config: Config,
    @Inject(Log) private readonly log: Log,
  ) {
    super();
    setMaxListeners(0, this.stopping.signal);
  }

  /** The queue's workers are made before this, as its module is global; the decorator knows no configuration. */
  onApplicationBootstrap(): void {
    if (this.config.runsJobs) this.worker.concurrency = this.config.runConcurrency;
  }

  async process({ data }: Job<{ run_id: string }>): Promise<void> {
    await withLogContext({ run_id: data.run_id }, () => this.loop.carry(data.run_id, this.stopping.signal));
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.log.warn({ err: error }, 'the run queue has a fault; the worker goes on');
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job<{ run_id: string }> | undefined, error: Error): void {
    this.log.error({ err: error, run_id: job?.data.run_id }, 'a run could not be carried on');
  }

  /** Takes no more runs, waits a while for those in flight, and hands the rest back to the queue. */
  async beforeApplicationShutdown(): Promise<void> {
    if (!this.config.runsJobs) return;
    const closed = this.worker.close();
    const patience = new AbortController();
    const waited = sleep(this.config.drainSeconds * 1000, undefined, { signal: patience.signal }).catch(
      () => undefined,
    );
    await Promise.race([closed, waited]);
    patience.abort();
    this.stopping.abort(new Error('The service is stopping'));
    await closed;
  }
}
