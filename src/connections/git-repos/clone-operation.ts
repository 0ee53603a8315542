import type { Actor } from '../../platform/access/index.js';
import { defineJob } from '../../platform/jobs/index.js';
import { defineOperation } from '../../workspaces/operations/index.js';

export interface CloneInput {
  readonly repo_id: string;
  /** On whose authority; it is looked at again when its turn comes. */
  readonly actor: Actor;
}
export const gitClone = defineOperation<CloneInput>('git_clone', 'The repository was not cloned; try again');

export const cloneRepository = defineJob('clone_repository', {
  /** Operations that wait in a process, which is fair to organizations; the queue is not. */
  queue: {
    name: 'git',
    concurrency: 200,
    lockDuration: 10_000,
    stalledInterval: 10_000,
    maxStalledCount: 100,
  },
  payload: ['operation_id'],
});
