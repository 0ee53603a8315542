import { Queues } from '../../src/platform/jobs/index.js';
import type { TestService } from './service.js';

/**
 * Resolves when this process has completed one more job of `queue`. Unlike once(), it does not reject where the worker reports
 * an error, such as of a lock that it renews late: nobody may wait for this any more.
 */
export function jobCompleted({ app }: TestService, queue: string): Promise<void> {
  const worker = workerOf(app, queue);
  return new Promise(resolve => worker?.once('completed', () => resolve()));
}

/** Resolves when this process has ended one more job of `queue`, also one that failed for good. */
function jobEnded({ app }: TestService, queue: string): Promise<void> {
  const worker = workerOf(app, queue);
  return new Promise(resolve => {
    const end = () => {
      worker?.off('completed', end).off('failed', end);
      resolve();
    };
    worker?.on('completed', end).on('failed', end);
  });
}

function workerOf(app: TestService['app'], queue: string) {
  return app
    .get(Queues, { strict: false })
    .workers()
    .find(({ name }) => name === queue);
}

/** Waits until every job of these queues is done, one queue after the other. */
export async function settled(service: TestService, ...queues: string[]): Promise<void> {
  for (const queue of queues)
    for (;;) {
      const next = jobEnded(service, queue);
      const left = await service.database.query(
        'select id from accepted_job where queue = $1 and failed_at is null',
        [queue],
      );
      if (left.length === 0) break;
      await next;
    }
}
