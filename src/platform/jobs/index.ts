export { Chore, Chores } from './chores.js';
export { defineJob } from './job.js';
export { Jobs } from './jobs.js';
export { JobsModule } from './jobs.module.js';
export { type Attempt, OnFailedJob, OnJob } from './on-job.js';
export { Queues } from './queues.js';
export { RedisUnusable, requireRedis } from './require-redis.js';
