import type { EventEmitter } from 'node:events';
import { BullModule, BullRegistrar, WorkerHost } from '@nestjs/bullmq';
import { Global, Inject, Module, OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { ConnectionOptions, createPostgresBackend, Queue, setDefaultBackendFactory, Worker } from 'bullmq';
import { Config } from '../config/config.js';
import { DatabaseConnection } from '../database/connection.js';
import { Log } from '../log/log.js';
import { JobQueue } from './job-queue.js';
import { Outbox } from './outbox.js';

/** Redis where one is configured, else the database itself. */
function queueConnection(config: Config, database: DatabaseConnection): ConnectionOptions {
  if (config.redisUrl) {
    setDefaultBackendFactory();
    return { url: config.redisUrl, maxRetriesPerRequest: null };
  }
  setDefaultBackendFactory(createPostgresBackend as never);
  // What the queue notes of a job need not survive a crash of the database: jobs are added in our own transactions, and
  // one whose end was forgotten runs again, which is harmless.
  const options = '-c synchronous_commit=off';
  return { connectionString: database.connectionString, max: 4, options } as ConnectionOptions;
}

/** The background queue: processors run where ROLE says so. */
@Global()
@Module({
  imports: [
    DiscoveryModule,
    BullModule.forRootAsync({
      inject: [Config, DatabaseConnection],
      useFactory: (config: Config, database: DatabaseConnection) => ({
        connection: queueConnection(config, database),
        extraOptions: { manualRegistration: true },
      }),
      extraOptions: { manualRegistration: true },
    }),
  ],
  providers: [JobQueue, Outbox],
  exports: [JobQueue],
})
export class QueueModule implements OnApplicationBootstrap {
  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(BullRegistrar) private readonly registrar: BullRegistrar,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(Log) private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.runsJobs) this.registrar.register();
    for (const { instance } of this.discovery.getProviders()) {
      if (instance instanceof Queue) this.watch(instance);
      if (this.config.runsJobs && instance instanceof WorkerHost) this.watch(instance.worker);
    }
  }

  /** A lost connection is mended by the queue itself; without a listener it would go to stderr, or end the process. */
  private watch(part: Queue | Worker): void {
    const { name } = part;
    const events: EventEmitter = part;
    if (events.listenerCount('error') > 0) return;
    events.on('error', error =>
      this.log.warn({ err: error, queue: name }, 'a queue has a fault; it goes on'),
    );
  }
}
