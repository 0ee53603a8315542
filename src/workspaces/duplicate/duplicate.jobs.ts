import { Processor } from '@nestjs/bullmq';
import { type Attempt, JobProcessor } from '../../platform/jobs/index.js';
import { OperationRunner } from '../operations/index.js';
import { OPERATION_QUEUE } from './duplicate.service.js';
import { WorkspaceCopy } from './workspace-copy.js';

/** Jobs that wait here for their turns, rather than in the queue, which knows no turns. */
const MAX_WAITING = 500;

@Processor(OPERATION_QUEUE, {
  concurrency: MAX_WAITING,
  lockDuration: 10_000,
  stalledInterval: 10_000,
  maxStalledCount: 100,
})
export class DuplicateJobs extends JobProcessor<{ operation_id: string }> {
  constructor(
    private readonly runner: OperationRunner,
    private readonly copy: WorkspaceCopy,
  ) {
    super();
  }

  protected async perform(payload: { operation_id: string }, attempt: Attempt): Promise<undefined> {
    await this.runner.run(payload.operation_id, this.copy, attempt);
  }

  protected override abandon({ operation_id }: { operation_id: string }): Promise<void> {
    return this.runner.abandon(operation_id, this.copy);
  }
}
