import { Injectable } from '@nestjs/common';
import { type Actor, Credentials } from '../../../platform/access/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../../../workspaces/core/index.js';

/** Whoever an automation acts for may not have it run any more; the message says why. */
export class AuthorityLost extends Error {}

/** Whether an automation still has the authority that it acts on; looked at before each run. */
@Injectable()
export class AutomationAuthority {
  constructor(
    private readonly credentials: Credentials,
    private readonly workspaces: WorkspacesStore,
  ) {}

  /** The workspace, as whoever it acts for sees it. Throws AuthorityLost. */
  async require(actor: Actor, workspaceId: string, kind: 'agent' | 'script'): Promise<VisibleWorkspace> {
    const { credential } = actor;
    // A session is renewed, so what it started outlives it.
    if (credential.type !== 'session' && !(await this.credentials.stands(credential)))
      throw new AuthorityLost(`The key of ${actor.name}, for whom it acts, was revoked or has run out`);
    try {
      const permission = kind === 'agent' ? 'agent.run' : 'code.run';
      const unlimited = { ...actor, credential: { ...credential, scopes: null } };
      return await this.workspaces.require(unlimited, permission, workspaceId);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      throw new AuthorityLost(`${actor.name}, for whom it acts, may not run it any more: ${problem.detail}`);
    }
  }
}
