import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Chores } from './chores.js';
import { JobStore } from './job.store.js';
import { JobDispatcher } from './job-dispatcher.js';
import { JobHandlers } from './job-handlers.js';
import { JobRunner } from './job-runner.js';
import { Jobs } from './jobs.js';
import { QueuePool } from './queue-pool.js';
import { Queues } from './queues.js';

/** Work in the background: jobs, which transactions enqueue, and chores, which come back. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [JobStore, Chores, JobDispatcher, JobHandlers, JobRunner, Jobs, QueuePool, Queues],
  exports: [Jobs],
})
export class JobsModule {}
