import type { Actor } from '../../platform/access/index.js';
import { defineJob } from '../../platform/jobs/index.js';
import { defineOperation } from '../../workspaces/operations/index.js';

export interface CloneInput {
  readonly repo_id: string;
  /** On whose authority; it is looked at again when its turn comes. */
  readonly actor: Actor;
}
export const gitClone = defineOperation<CloneInput>('git_clone', 'The repository was not cloned; try again');

/** The queue of repositories that are cloned. */
export const GIT = 'git';

export const cloneRepository = defineJob('clone_repository', { queue: GIT, payload: ['operation_id'] });
