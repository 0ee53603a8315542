import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobRunner } from '../../platform/jobs/index.js';
import { OperationProcessor, OperationRunner } from '../../workspaces/operations/index.js';
import { cloneRepository, GIT } from './clone-queue.js';
import { RepoClone } from './repo-clone.js';

@Processor(GIT, fairWorkerOptions())
export class GitProcessor extends OperationProcessor {
  constructor(runner: JobRunner, operations: OperationRunner, clones: RepoClone) {
    super(runner, operations);
    this.perform(cloneRepository, clones);
  }
}
