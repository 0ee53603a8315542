import type { Queue } from '../../../platform/jobs/index.js';

/** Operations that wait in a process, which is fair to organizations; the queue is not. */
export const TEMPLATES: Queue = {
  name: 'templates',
  concurrency: 200,
  lockDuration: 10_000,
  stalledInterval: 10_000,
  maxStalledCount: 100,
};
