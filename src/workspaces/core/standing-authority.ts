import { Injectable } from '@nestjs/common';
import { type Actor, Credentials, type WorkspacePermission } from '../../platform/access/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspacesStore } from './workspaces.store.js';

/** The person or program on whose authority something goes on may not have it go on any more; the message says why. */
export class AuthorityLost extends Error {}

/** Whether what was set going without a request to wait for still has its authority; looked at before each part of it. */
@Injectable()
export class StandingAuthority {
  constructor(
    private readonly credentials: Credentials,
    private readonly workspaces: WorkspacesStore,
  ) {}

  /** The workspace, as whoever it acts for sees it. Throws AuthorityLost. */
  async require(
    actor: Actor,
    workspaceId: string,
    permission: WorkspacePermission,
  ): Promise<VisibleWorkspace> {
    const { credential } = actor;
    // A session is renewed, so what it started outlives it.
    if (credential.type !== 'session' && !(await this.credentials.stands(credential)))
      throw new AuthorityLost(`The key of ${actor.name}, for whom it acts, was revoked or has run out`);
    try {
      const unlimited = { ...actor, credential: { ...credential, scopes: null } };
      return await this.workspaces.require(unlimited, permission, workspaceId);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      throw new AuthorityLost(`${actor.name}, for whom it acts, may not run it any more: ${problem.detail}`);
    }
  }
}
