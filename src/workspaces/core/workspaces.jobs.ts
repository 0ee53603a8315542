import { Injectable } from '@nestjs/common';
import type { Feature } from '../../platform/access/index.js';
import { defineJob, OnJob } from '../../platform/jobs/index.js';
import { FeatureEnds } from './feature-ends.js';
import { WorkspaceFolders } from './workspace-folders.js';

const queue = { name: 'workspaces', lockDuration: 30_000 };

/** The rows of a workspace are gone; its folder follows. */
export const removeFolder = defineJob('remove_folder', { queue, payload: ['workspace_id'] });

/** A feature of a workspace was turned off; what is under way by it ends. */
export const endFeature = defineJob('end_feature', { queue, payload: ['workspace_id', 'feature'] });

@Injectable()
export class WorkspaceJobs {
  constructor(
    private readonly folders: WorkspaceFolders,
    private readonly features: FeatureEnds,
  ) {}

  @OnJob(removeFolder)
  async removeFolder({ workspace_id }: { workspace_id: string }): Promise<void> {
    await this.folders.remove(workspace_id);
  }

  @OnJob(endFeature)
  async endFeature({ workspace_id, feature }: { workspace_id: string; feature: string }): Promise<void> {
    await this.features.run(feature as Feature, workspace_id);
  }
}
