import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import type { Job } from 'bullmq';
import type { Feature } from '../../platform/access/policy.js';
import { defineJob } from '../../platform/queue/job-queue.js';
import { FeatureEnds } from './feature-ends.js';
import { WorkspaceFolders } from './workspace-folders.js';

export const WORKSPACE_QUEUE = 'workspaces';

/** The rows of a workspace are gone; its folder follows. */
export const removeFolder = defineJob<{ workspace_id: string }>(WORKSPACE_QUEUE, 'remove_folder');

/** A feature of a workspace was turned off; what is under way by it ends. */
export const endFeature = defineJob<{ workspace_id: string; feature: Feature }>(
  WORKSPACE_QUEUE,
  'end_feature',
);

@Processor(WORKSPACE_QUEUE, { lockDuration: 30_000 })
export class WorkspaceJobs extends WorkerHost {
  constructor(
    @Inject(WorkspaceFolders) private readonly folders: WorkspaceFolders,
    @Inject(FeatureEnds) private readonly features: FeatureEnds,
  ) {
    super();
  }

  async process({ name, data }: Job<{ workspace_id: string; feature: Feature }>): Promise<void> {
    if (name === endFeature.name) await this.features.run(data.feature, data.workspace_id);
    else await this.folders.remove(data.workspace_id);
  }
}
