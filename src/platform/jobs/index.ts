export { Chore, Chores } from './chores.js';
export { type Attempt, defineJob } from './job.js';
export { fairWorkerOptions, JobExecution, JobProcessor, workerOptions } from './job-processor.js';
export { Jobs } from './jobs.js';
export { JobsModule } from './jobs.module.js';
export { requireRedis } from './queue-connections.js';
export { Queues } from './queues.js';
