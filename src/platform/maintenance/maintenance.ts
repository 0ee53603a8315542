import { InjectQueue, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import type { Job, Queue } from 'bullmq';
import { Config } from '../config/config.js';
import { Log } from '../log/log.js';

export const MAINTENANCE_QUEUE = 'maintenance';

interface Chore {
  name: string;
  everyMs: number;
  work: () => Promise<void>;
}

/** What is to be done every so often, by one process of all: tidying up, mostly. Running a chore twice is harmless. */
@Injectable()
export class Maintenance implements OnApplicationBootstrap {
  private readonly chores = new Map<string, Chore>();

  constructor(
    @Inject(Config) private readonly config: Config,
    @InjectQueue(MAINTENANCE_QUEUE) private readonly queue: Queue,
  ) {}

  /** Called while modules start; the name is what the queue remembers. */
  every(everyMs: number, name: string, work: () => Promise<void>): void {
    this.chores.set(name, { name, everyMs, work });
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.runsJobs) return;
    for (const { name, everyMs } of this.chores.values())
      await this.queue.upsertJobScheduler(
        name,
        { every: everyMs },
        { name, opts: { removeOnComplete: true, removeOnFail: { age: 86_400 } } },
      );
  }

  async run(name: string): Promise<void> {
    // A chore that only a later version knows, or an earlier one knew.
    await this.chores.get(name)?.work();
  }
}

@Processor(MAINTENANCE_QUEUE)
export class MaintenanceProcessor extends WorkerHost {
  constructor(
    @Inject(Maintenance) private readonly maintenance: Maintenance,
    @Inject(Log) private readonly log: Log,
  ) {
    super();
  }

  async process({ name }: Job): Promise<void> {
    await this.maintenance.run(name);
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job | undefined, error: Error): void {
    this.log.error({ err: error, chore: job?.name }, 'a chore failed; it runs again when its time comes');
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.log.warn({ err: error }, 'the maintenance queue has a fault; the worker goes on');
  }
}
