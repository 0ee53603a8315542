import { getQueueToken } from '@nestjs/bullmq';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Queue } from 'bullmq';
import { Leases } from '../leases/index.js';
import { Log } from '../log/index.js';
import { Drain, Signals } from '../topics/index.js';
import { AcceptedJobs } from './accepted-jobs.js';
import { OUTBOX_TOPIC, queueOptions } from './job-queue.js';

const RETRY_MS = 1_000;

/**
 * Gives the queue what it is to have: jobs that were just committed, where it is in Redis, and every few seconds what it may
 * have lost. A job's id there keeps one that it has from being added twice.
 */
@Injectable()
export class Outbox implements OnApplicationBootstrap, OnApplicationShutdown {
  private drain: Drain | undefined;

  constructor(
    private readonly accepted: AcceptedJobs,
    private readonly leases: Leases,
    private readonly signals: Signals,
    private readonly modules: ModuleRef,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    const drain = new Drain(this.signals, this.log, {
      topic: OUTBOX_TOPIC,
      take: () => this.handOver(),
      failure: 'jobs cannot be handed to the queue; trying again',
      retryMs: RETRY_MS,
    });
    this.leases.recover('job', async () => drain.wake());
    this.drain = drain;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.drain?.close();
  }

  private async handOver(): Promise<number> {
    const jobs = await this.accepted.takeDue();
    await Promise.all(
      jobs.map(({ id, queue, name, payload }) =>
        this.modules.get<Queue>(getQueueToken(queue), { strict: false }).add(name, payload, queueOptions(id)),
      ),
    );
    return jobs.length;
  }
}
