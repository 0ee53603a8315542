import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobExecution, JobProcessor } from '../../platform/jobs/index.js';
import { cloneRepository, GIT } from './clone-operation.js';
import { RepoClone } from './repo-clone.js';

/** Clones repositories. */
@Processor(GIT, fairWorkerOptions())
export class GitProcessor extends JobProcessor {
  constructor(execution: JobExecution, clones: RepoClone) {
    super(execution);
    this.handle(
      cloneRepository,
      (payload, attempt) => clones.run(payload, attempt),
      payload => clones.abandon(payload),
    );
  }
}
