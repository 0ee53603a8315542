import { Injectable } from '@nestjs/common';
import { OrganizationsStore } from '../../../identity/organizations/index.js';
import { ServiceAccountsStore } from '../../../identity/service-accounts/index.js';
import { type Actor, ORGANIZATION_ROLES, WORKSPACE_ROLES } from '../../../platform/access/index.js';
import { Invalid, NotFound, Problem } from '../../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../../../workspaces/core/index.js';

/** Service accounts that deployments act for instead of the person who deploys. */
@Injectable()
export class StandIns {
  constructor(
    private readonly accounts: ServiceAccountsStore,
    private readonly organizations: OrganizationsStore,
    private readonly workspaces: WorkspacesStore,
  ) {}

  /**
   * The account as an actor that reaches this one workspace. Throws Invalid where the caller would gain by it: its roles may
   * not be above theirs. Without a credential of its own it acts for as long as it is a member.
   */
  async actorFor(
    caller: Actor,
    id: string,
    workspace: VisibleWorkspace,
    kind: 'agent' | 'script',
  ): Promise<Actor> {
    const account = await this.accounts.find(id);
    if (account?.organization_id !== workspace.organization_id)
      throw new Invalid('run_as: no such service account in the organization of the workspace');
    const actor: Actor = {
      type: 'service_account',
      id,
      name: account.name,
      email: null,
      credential: {
        type: 'exec',
        id,
        scopes: null,
        expires_at: null,
        organization_id: workspace.organization_id,
        workspace_ids: [workspace.id],
      },
    };
    const theirs = await this.standingOf(actor, workspace.id, kind);
    const [own, other] = [await this.rankOf(caller, workspace), await this.rankOf(actor, workspace)];
    const isAbove =
      other < own || WORKSPACE_ROLES.indexOf(theirs.role) < WORKSPACE_ROLES.indexOf(workspace.role);
    if (isAbove)
      throw new Invalid(`run_as: ${account.name} has a role above yours; use an account with less`);
    return actor;
  }

  /** The place of a role among those of the organization, the highest first. */
  private async rankOf({ id }: Actor, { organization_id }: VisibleWorkspace): Promise<number> {
    const role = await this.organizations.roleOf(organization_id, id);
    return role === undefined ? Number.POSITIVE_INFINITY : ORGANIZATION_ROLES.indexOf(role);
  }

  private async standingOf(
    actor: Actor,
    workspaceId: string,
    kind: 'agent' | 'script',
  ): Promise<VisibleWorkspace> {
    try {
      const permission = kind === 'agent' ? 'agent.run' : 'code.run';
      return await this.workspaces.require(actor, permission, workspaceId);
    } catch (error) {
      if (error instanceof NotFound)
        throw new Invalid(`run_as: ${actor.name} does not see this workspace; add it to its members`);
      if (error instanceof Problem && error.status < 500)
        throw new Invalid(`run_as: ${actor.name} may not run it here: ${error.detail}`);
      throw error;
    }
  }
}
