import { Processor } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import type { Feature } from '../../platform/access/index.js';
import { defineJob, JobProcessor, JobRunner, workerOptions } from '../../platform/jobs/index.js';
import { WorkspaceFolders } from './workspace-folders.js';
import { WorkspacesStore } from './workspaces.store.js';

/** The queue of what ends with a workspace, or with one of its features. */
export const WORKSPACES = 'workspaces';

export const removeFolder = defineJob('remove_folder', { queue: WORKSPACES, payload: ['workspace_id'] });

export const endFeature = defineJob('end_feature', {
  queue: WORKSPACES,
  payload: ['workspace_id', 'feature'],
});

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

@Processor(WORKSPACES, workerOptions({ lockDuration: 30_000 }))
export class WorkspacesProcessor extends JobProcessor {
  constructor(runner: JobRunner, folders: WorkspaceFolders, features: FeatureEnds) {
    super(runner);
    this.handle(removeFolder, ({ workspace_id }) => folders.remove(workspace_id));
    this.handle(endFeature, ({ workspace_id, feature }) => features.run(feature as Feature, workspace_id));
  }
}
