import { BullModule, BullRegistrar } from '@nestjs/bullmq';
import { Global, Inject, Module, OnApplicationBootstrap } from '@nestjs/common';
import { ConnectionOptions, createPostgresBackend, setDefaultBackendFactory } from 'bullmq';
import { Config } from '../config/config.js';
import { DatabaseConnection } from '../database/connection.js';
import { JobQueue } from './job-queue.js';
import { Outbox } from './outbox.js';

/** Redis where one is configured, else the database itself. */
function queueConnection(config: Config, database: DatabaseConnection): ConnectionOptions {
  if (config.redisUrl) {
    setDefaultBackendFactory();
    return { url: config.redisUrl, maxRetriesPerRequest: null };
  }
  setDefaultBackendFactory(createPostgresBackend as never);
  return { connectionString: database.connectionString, max: 4 } as ConnectionOptions;
}

/** The background queue: processors run where ROLE says so. */
@Global()
@Module({
  imports: [
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
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.runsJobs) this.registrar.register();
  }
}
