export { Chore, Chores } from './chores.js';
export { type Attempt, defineJob, OnFailedJob, OnJob, type Queue } from './job.js';
export { Jobs } from './jobs.js';
export { JobsModule } from './jobs.module.js';
export { Queues, requireRedis } from './queues.js';
