import { Injectable } from '@nestjs/common';
import { type Attempt, OnFailedJob, OnJob } from '../../platform/jobs/index.js';
import { OperationRunner } from '../operations/index.js';
import { duplicateFiles } from './duplicate.service.js';
import { WorkspaceCopy } from './workspace-copy.js';

@Injectable()
export class DuplicateJobs {
  constructor(
    private readonly runner: OperationRunner,
    private readonly copy: WorkspaceCopy,
  ) {}

  @OnJob(duplicateFiles)
  async duplicate({ operation_id }: { operation_id: string }, attempt: Attempt): Promise<void> {
    await this.runner.run(operation_id, this.copy, attempt);
  }

  @OnFailedJob(duplicateFiles)
  abandon({ operation_id }: { operation_id: string }): Promise<void> {
    return this.runner.abandon(operation_id, this.copy);
  }
}
