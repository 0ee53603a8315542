import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobRunner } from '../../platform/jobs/index.js';
import { OperationProcessor, OperationRunner } from '../operations/index.js';
import { duplicateFiles, OPERATIONS } from './duplicate.service.js';
import { WorkspaceCopy } from './workspace-copy.js';

/** Copies workspaces. */
@Processor(OPERATIONS, fairWorkerOptions(500))
export class DuplicateProcessor extends OperationProcessor {
  constructor(runner: JobRunner, operations: OperationRunner, copies: WorkspaceCopy) {
    super(runner, operations);
    this.perform(duplicateFiles, copies);
  }
}
