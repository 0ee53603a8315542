export type { Attempt } from './accepted-jobs.js';
export { FairTurns, type TurnOf } from './fair-turns.js';
export { JobProcessor } from './job-processor.js';
export { defineJob, JobQueue } from './job-queue.js';
export { QueueModule } from './queue.module.js';
export { RedisUnusable, requireRedis } from './require-redis.js';
