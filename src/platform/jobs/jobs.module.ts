import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Chores } from './chores.js';
import { JobHandlers } from './job.js';
import { JobStore } from './job.store.js';
import { JobRunner } from './job-runner.js';
import { JobDispatcher, Jobs } from './jobs.js';
import { QueuePool, Queues } from './queues.js';

/** Work in the background: jobs, which transactions enqueue, and chores, which come back. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [JobStore, Chores, JobDispatcher, JobHandlers, JobRunner, Jobs, QueuePool, Queues],
  exports: [Jobs],
})
export class JobsModule {}
