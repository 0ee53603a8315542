import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import type { Job } from 'bullmq';
import { defineJob } from '../../platform/queue/job-queue.js';
import { WorkspaceFolders } from './workspace-folders.js';

export const WORKSPACE_QUEUE = 'workspaces';

/** The rows of a workspace are gone; its folder follows. */
export const removeFolder = defineJob<{ workspace_id: string }>(WORKSPACE_QUEUE, 'remove_folder');

@Processor(WORKSPACE_QUEUE, { lockDuration: 30_000 })
export class WorkspaceJobs extends WorkerHost {
  constructor(@Inject(WorkspaceFolders) private readonly folders: WorkspaceFolders) {
    super();
  }

  async process({ data }: Job<{ workspace_id: string }>): Promise<void> {
    await this.folders.remove(data.workspace_id);
  }
}
