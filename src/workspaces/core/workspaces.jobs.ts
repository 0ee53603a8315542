import { Injectable } from '@nestjs/common';
import type { Feature } from '../../platform/access/index.js';
import { defineJob, OnJob } from '../../platform/jobs/index.js';
import { WorkspaceFolders } from './workspace-folders.js';
import { WorkspacesStore } from './workspaces.store.js';

const queue = { name: 'workspaces', lockDuration: 30_000 };

export const removeFolder = defineJob('remove_folder', { queue, payload: ['workspace_id'] });

export const endFeature = defineJob('end_feature', { queue, payload: ['workspace_id', 'feature'] });

type End = (workspaceId: string) => Promise<void>;

/**
 * What ends when a feature is turned off; the access policy refuses what comes later. Features register it while modules
 * start; it must be idempotent.
 */
@Injectable()
export class FeatureEnds {
  private readonly ends = new Map<Feature, End[]>();

  constructor(private readonly workspaces: WorkspacesStore) {}

  add(feature: Feature, end: End): void {
    this.ends.set(feature, [...(this.ends.get(feature) ?? []), end]);
  }

  /** Unless the feature is on again by now. */
  async run(feature: Feature, workspaceId: string): Promise<void> {
    if (!(await this.workspaces.isOff(workspaceId, feature))) return;
    for (const end of this.ends.get(feature) ?? []) await end(workspaceId);
  }
}

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
