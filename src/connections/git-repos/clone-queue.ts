import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { newId, type UnitOfWork } from '../../platform/database/index.js';
import { TooManyRequests } from '../../platform/errors/index.js';
import { defineEvent } from '../../platform/events/index.js';
import { defineJob, Jobs } from '../../platform/jobs/index.js';
import type { VisibleWorkspace } from '../../workspaces/core/index.js';
import { defineOperation, OperationsStore } from '../../workspaces/operations/index.js';

export interface CloneInput {
  readonly repo_id: string;
  /** Checked again when its turn comes. */
  readonly actor: Actor;
}
export const gitClone = defineOperation<CloneInput>('git_clone', 'The repository was not cloned; try again');

export const GIT = 'git';

export const cloneRepository = defineJob('clone_repository', { queue: GIT, payload: ['operation_id'] });

export const gitCloned = defineEvent<{ operation_id: string }>('git.cloned');
export const gitCloneFailed = defineEvent<{ operation_id: string }>('git.clone_failed');

const MAX_UNDER_WAY = 50;

/** Queue of clones, at most fifty of an organization that run or wait. */
@Injectable()
export class CloneQueue {
  constructor(
    private readonly operations: OperationsStore,
    private readonly jobs: Jobs,
  ) {}

  async requireRoom({ organization_id }: VisibleWorkspace): Promise<void> {
    if ((await this.operations.countUnderWay(organization_id, gitClone)) >= MAX_UNDER_WAY)
      throw new TooManyRequests(
        `${MAX_UNDER_WAY} repositories of this organization are being cloned; try again when some are done`,
      );
  }

  async add(
    unit: UnitOfWork,
    actor: Actor,
    { id: subject_id, organization_id }: VisibleWorkspace,
    { operation_id, repo_id }: { operation_id: string; repo_id: string },
  ): Promise<void> {
    await this.operations.add(unit, gitClone, {
      id: operation_id,
      actor_id: actor.id,
      organization_id,
      subject_id,
      chain: actor.chain,
      input: { repo_id, actor },
    });
    await this.jobs.enqueue(unit, cloneRepository, newId(), { operation_id });
  }
}
