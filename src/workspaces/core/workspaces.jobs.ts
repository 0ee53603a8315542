import { Processor } from '@nestjs/bullmq';

import type { Feature } from '../../platform/access/index.js';
import { type Attempt, defineJob, JobProcessor } from '../../platform/jobs/index.js';
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
export class WorkspaceJobs extends JobProcessor<{ workspace_id: string; feature: Feature }> {
  constructor(
    private readonly folders: WorkspaceFolders,
    private readonly features: FeatureEnds,
  ) {
    super();
  }

  protected async perform(
    { workspace_id, feature }: { workspace_id: string; feature: Feature },
    { name }: Attempt,
  ): Promise<undefined> {
    if (name === endFeature.name) await this.features.run(feature, workspace_id);
    else await this.folders.remove(workspace_id);
  }
}
