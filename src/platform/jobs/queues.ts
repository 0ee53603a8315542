import type { EventEmitter } from 'node:events';
import { BullRegistrar, getQueueToken, WorkerHost } from '@nestjs/bullmq';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ModuleRef } from '@nestjs/core';
import { Queue, type Worker } from 'bullmq';
import { Config } from '../config/index.js';
import { Log } from '../log/index.js';
import { Metrics } from '../metrics/index.js';
import { JobStore } from './job.store.js';
import { QueueConnections } from './queue-connections.js';
import { type QueuedJob, queueOptions } from './queued-job.js';

/** In which BullMQ counts jobs; those that failed are counted by their rows. */
const STATES = ['waiting', 'active', 'delayed'] as const;

/** All queues of the service; starts their workers where ROLE says so. */
@Injectable()
export class Queues implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly config: Config,
    private readonly connections: QueueConnections,
    private readonly modules: ModuleRef,
    private readonly discovery: DiscoveryService,
    private readonly registrar: BullRegistrar,
    private readonly store: JobStore,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    metrics.slowGauge(
      {
        name: 'atelier_queue_jobs',
        help: 'Jobs in a queue, of all processes together, by state.',
        labels: ['queue', 'state'],
      },
      () => this.depths(),
    );
  }

  onModuleInit(): void {
    for (const queue of this.all()) this.logErrors(queue);
  }

  onApplicationBootstrap(): void {
    if (this.config.runsJobs) this.registrar.register();
    for (const worker of this.workers()) this.logErrors(worker);
  }

  async onApplicationShutdown(): Promise<void> {
    const closed = await Promise.allSettled([...this.workers(), ...this.all()].map(part => part.close()));
    await this.connections.end();
    for (const result of closed) if (result.status === 'rejected') throw result.reason;
  }

  queue(name: string): Queue {
    return this.modules.get(getQueueToken(name), { strict: false });
  }

  /** Those of this process; none where it executes no jobs. */
  workers(): Worker[] {
    if (!this.config.runsJobs) return [];
    return this.providers()
      .filter(one => one instanceof WorkerHost)
      .map(({ worker }) => worker);
  }

  /**
   * Gives a job that is due to BullMQ, which ignores one that it has. Where it delays that one, until a time of some process's
   * clock, the delay ends.
   */
  async add({ id, queue, name, payload }: QueuedJob): Promise<void> {
    const job = await this.queue(queue).add(name, payload, queueOptions(id));
    if (!(await job.isDelayed())) return;
    await job.promote().catch(async error => {
      if (await job.isDelayed()) throw error;
    });
  }

  /** BullMQ mends a lost connection itself; without a listener the error would end the process. */
  private logErrors(part: EventEmitter & { readonly name: string }): void {
    part.on('error', (err: Error) =>
      this.log.warn({ err, queue: part.name }, 'queue error; the queue goes on'),
    );
  }

  private all(): Queue[] {
    return this.providers().filter(one => one instanceof Queue);
  }

  private providers(): unknown[] {
    return [...new Set(this.discovery.getProviders().map(({ instance }) => instance as unknown))];
  }

  private async depths() {
    const failed = await this.store.failedByQueue();
    const depths = await Promise.all(
      this.all().map(async queue => {
        const counts = await queue.getJobCounts(...STATES);
        const depth = (state: string, value = 0) => ({ labels: { queue: queue.name, state }, value });
        return [...STATES.map(state => depth(state, counts[state])), depth('failed', failed.get(queue.name))];
      }),
    );
    return depths.flat();
  }
}
