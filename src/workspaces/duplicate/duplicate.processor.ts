import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobExecution, JobProcessor } from '../../platform/jobs/index.js';
import { duplicateFiles, OPERATIONS } from './duplicate.service.js';
import { WorkspaceCopy } from './workspace-copy.js';

/** Copies workspaces. */
@Processor(OPERATIONS, fairWorkerOptions(500))
export class DuplicateProcessor extends JobProcessor {
  constructor(execution: JobExecution, copies: WorkspaceCopy) {
    super(execution);
    this.handle(
      duplicateFiles,
      (payload, attempt) => copies.run(payload, attempt),
      payload => copies.abandon(payload),
    );
  }
}
