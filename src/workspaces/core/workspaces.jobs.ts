import { Processor } from '@nestjs/bullmq';
import type { Feature } from '../../platform/access/index.js';
import { defineJob, JobProcessor, JobRunner, workerOptions } from '../../platform/jobs/index.js';
import { FeatureEnds } from './feature-ends.js';
import { WorkspaceFolders } from './workspace-folders.js';

/** The queue of what ends with a workspace, or with one of its features. */
export const WORKSPACES = 'workspaces';

export const removeFolder = defineJob('remove_folder', { queue: WORKSPACES, payload: ['workspace_id'] });

export const endFeature = defineJob('end_feature', {
  queue: WORKSPACES,
  payload: ['workspace_id', 'feature'],
});

@Processor(WORKSPACES, workerOptions({ lockDuration: 30_000 }))
export class WorkspacesProcessor extends JobProcessor {
  constructor(runner: JobRunner, folders: WorkspaceFolders, features: FeatureEnds) {
    super(runner);
    this.handle(removeFolder, ({ workspace_id }) => folders.remove(workspace_id));
    this.handle(endFeature, ({ workspace_id, feature }) => features.run(feature as Feature, workspace_id));
  }
}
