import { getQueueToken } from '@nestjs/bullmq';
import { Inject, Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Queue } from 'bullmq';
import { Config } from '../config/config.js';
import { Database, UnitOfWork } from '../database/database.js';
import { Log } from '../log/log.js';
import { Drain } from '../signals/drain.js';
import { Signals } from '../signals/signals.js';
import { JOB_OPTIONS, OUTBOX_TOPIC } from './job-queue.js';

const RETRY_MS = 1_000;

interface OutboxRow {
  id: string;
  queue: string;
  name: string;
  payload: object;
}

/**
 * Hands committed jobs over to Redis. A job is deleted here after Redis has it; its id there keeps a second hand-over
 * from adding it twice.
 */
@Injectable()
export class Outbox implements OnApplicationBootstrap, OnApplicationShutdown {
  private drain: Drain | undefined;

  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Signals) private readonly signals: Signals,
    @Inject(ModuleRef) private readonly modules: ModuleRef,
    @Inject(Log) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.redisUrl) return;
    this.drain = new Drain(this.signals, this.log, {
      topic: OUTBOX_TOPIC,
      take: () => this.database.transaction(unit => this.handOver(unit)),
      failure: 'jobs cannot be handed to Redis; trying again',
      retryMs: RETRY_MS,
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.drain?.close();
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
