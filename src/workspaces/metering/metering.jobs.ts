import { InjectQueue, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { BeforeApplicationShutdown, Inject, OnApplicationBootstrap } from '@nestjs/common';
import type { Job, Queue } from 'bullmq';
import { Config } from '../../platform/config/config.js';
import { Log } from '../../platform/log/log.js';
import { JOB_OPTIONS } from '../../platform/queue/job-queue.js';
import { StorageMeter } from './storage-meter.js';

export const METERING_QUEUE = 'metering';

/** Measures storage at every full hour (UTC). The queue makes one job an hour, whatever number of workers there are. */
@Processor(METERING_QUEUE, { lockDuration: 60_000 })
export class MeteringJobs extends WorkerHost implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();

  constructor(
    @Inject(StorageMeter) private readonly storage: StorageMeter,
    @InjectQueue(METERING_QUEUE) private readonly queue: Queue,
    @Inject(Config) private readonly config: Config,
    @Inject(Log) private readonly log: Log,
  ) {
    super();
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.runsJobs) return;
    const schedule = { pattern: '0 * * * *', tz: 'UTC' };
    await this.queue.upsertJobScheduler('storage', schedule, { name: 'measure_storage', opts: JOB_OPTIONS });
  }

  /** What stopping cuts off is tried again, and finds what is measured already. */
  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('The service is stopping'));
  }

  async process(_job: Job): Promise<void> {
    await this.storage.measureAll(new Date(), this.stopping.signal);
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.log.warn({ err: error }, 'the metering queue has a fault; the worker goes on');
  }

  @OnWorkerEvent('failed')
  onFailed(_job: Job | undefined, error: Error): void {
    this.log.warn({ err: error }, 'storage could not be measured');
  }
}
