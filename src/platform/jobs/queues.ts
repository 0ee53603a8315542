import type { EventEmitter } from 'node:events';
import { BullRegistrar, getQueueToken, WorkerHost } from '@nestjs/bullmq';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, ModuleRef } from '@nestjs/core';
import { Queue, type Worker } from 'bullmq';
import { Config } from '../config/index.js';
import { Log } from '../log/index.js';
import { QueueConnections } from './queue-connections.js';
import { type QueuedJob, queueOptions } from './queued-job.js';

/** All queues of the service; starts their workers where ROLE says so. */
@Injectable()
export class Queues implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly config: Config,
    private readonly connections: QueueConnections,
    private readonly modules: ModuleRef,
    private readonly discovery: DiscoveryService,
    private readonly registrar: BullRegistrar,
    private readonly log: Log,
  ) {}

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

  all(): Queue[] {
    return this.providers().filter(one => one instanceof Queue);
  }

  private providers(): unknown[] {
    return [...new Set(this.discovery.getProviders().map(({ instance }) => instance as unknown))];
  }
}
