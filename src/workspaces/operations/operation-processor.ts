import { type Job, JobProcessor, JobRunner } from '../../platform/jobs/index.js';
import { OperationRunner, type OperationWork } from './operation-runner.js';

/** The worker of a queue of operations. */
export abstract class OperationProcessor extends JobProcessor {
  constructor(
    runner: JobRunner,
    private readonly operations: OperationRunner,
  ) {
    super(runner);
  }

  /** Executes operations by `work`; a job names one. */
  protected perform<Input extends object>(
    job: Job<{ operation_id: string }>,
    work: OperationWork<Input>,
  ): void {
    this.handle(
      job,
      ({ operation_id }, attempt) => this.operations.run(operation_id, work, attempt),
      ({ operation_id }) => this.operations.abandon(operation_id, work),
    );
  }
}
