import type { EventEmitter } from 'node:events';
import { Queues } from '../../src/platform/jobs/index.js';
import type { TestService } from './service.js';

/**
 * Resolves when this process has completed one more job of `queue`. Unlike once(), it does not reject where a worker tells of
 * an error, such as of a lock that it renews late: nobody may wait for this any more.
 */
export function jobCompleted({ app }: TestService, queue: string): Promise<void> {
  const worker = app.get(Queues, { strict: false }).worker(queue) as EventEmitter;
  return new Promise(resolve => worker.once('completed', () => resolve()));
}
