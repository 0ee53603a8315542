export { Chore, Chores } from './chores.js';
export { type Attempt, defineJob, type Job } from './job.js';
export { fairWorkerOptions, JobProcessor, workerOptions } from './job-processor.js';
export { JobRunner } from './job-runner.js';
export { Jobs } from './jobs.js';
export { JobsModule } from './jobs.module.js';
export { requireRedis } from './queue-connections.js';
export { Queues } from './queues.js';
