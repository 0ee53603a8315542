import { getQueueToken } from '@nestjs/bullmq';
import { Inject, Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Queue } from 'bullmq';
import { Config } from '../config/config.js';
import { Database, UnitOfWork } from '../database/database.js';
import { Log } from '../log/log.js';
import { Signals } from '../signals/signals.js';
import { JOB_OPTIONS, OUTBOX_TOPIC } from './job-queue.js';

interface OutboxRow {
  id: string;
  queue: string;
  name: string;
  payload: object;
}

/**
 * Hands committed jobs over to Redis: woken by the commit, and once at start for what a crash left behind. A job is
 * deleted here after Redis has it; its id there keeps a second hand-over from adding it twice.
 */
@Injectable()
export class Outbox implements OnApplicationBootstrap, OnApplicationShutdown {
  private unsubscribe: (() => void) | undefined;
  private working: Promise<void> | undefined;
  private wanted = false;

  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Signals) private readonly signals: Signals,
    @Inject(ModuleRef) private readonly modules: ModuleRef,
    @Inject(Log) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.redisUrl) return;
    this.unsubscribe = this.signals.subscribe(OUTBOX_TOPIC, () => this.wake());
    this.wake();
  }

  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await this.working;
  }

  private wake(): void {
    this.wanted = true;
    this.working ??= this.drain().finally(() => {
      this.working = undefined;
    });
  }

  private async drain(): Promise<void> {
    while (this.wanted) {
      this.wanted = false;
      try {
        while ((await this.database.transaction(unit => this.handOver(unit))) > 0);
      } catch (error) {
        this.log.error({ err: error }, 'jobs cannot be handed to Redis; trying again');
        setTimeout(() => this.wake(), 1000).unref();
      }
    }
  }

  private async handOver(unit: UnitOfWork): Promise<number> {
    const rows = await unit.entities.execute<OutboxRow[]>(
      'select id, queue, name, payload from job_outbox order by id limit 100 for update skip locked',
    );
    for (const { id, queue, name, payload } of rows) {
      const target = this.modules.get<Queue>(getQueueToken(queue), { strict: false });
      await target.add(name, payload, { jobId: id, ...JOB_OPTIONS });
    }
    if (rows.length > 0)
      await unit
        .tables<{ job_outbox: OutboxRow }>()
        .deleteFrom('job_outbox')
        .where(
          'id',
          'in',
          rows.map(({ id }) => id),
        )
        .execute();
    return rows.length;
  }
}
