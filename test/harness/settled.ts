import { type EventEmitter, once } from 'node:events';
import { Queues } from '../../src/platform/jobs/index.js';
import type { TestService } from './service.js';

/** Waits until every job of these queues is done, one queue after the other. */
export async function settled(service: TestService, ...queues: string[]): Promise<void> {
  const all = service.app.get(Queues, { strict: false });
  for (const queue of queues)
    for (const worker = all.worker(queue) as EventEmitter; ; ) {
      const next = once(worker, 'completed');
      const left = await service.database.query(
        'select id from accepted_job where queue = $1 and failed_at is null',
        [queue],
      );
      if (left.length === 0) break;
      await next;
    }
}
