import { BullModule } from '@nestjs/bullmq';
import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Chores } from './chores.js';
import { JobStore } from './job.store.js';
import { JobDispatcher } from './job-dispatcher.js';
import { JobHandlers } from './job-handlers.js';
import { JobRunner } from './job-runner.js';
import { Jobs } from './jobs.js';
import { QueueConnections, QueueConnectionsModule } from './queue-connections.js';
import { QueueMetrics } from './queue-metrics.js';
import { Queues } from './queues.js';

/** Work in the background: jobs, which transactions enqueue, and chores, which come back. */
@Global()
@Module({
  imports: [
    DiscoveryModule,
    QueueConnectionsModule,
    BullModule.forRootAsync({
      imports: [QueueConnectionsModule],
      inject: [QueueConnections],
      useFactory: ({ options }: QueueConnections) => ({ connection: options }),
      // Workers start when every module has: by `Queues`, in processes that execute jobs.
      extraOptions: { manualRegistration: true },
    }),
  ],
  providers: [Chores, JobDispatcher, JobHandlers, JobRunner, Jobs, JobStore, QueueMetrics, Queues],
  exports: [JobRunner, Jobs],
})
export class JobsModule {}
