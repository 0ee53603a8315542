import { Injectable, type OnModuleInit } from '@nestjs/common';
import { memberRemoved } from '../../identity/organizations/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type Row } from '../../platform/database/index.js';
import { ById, type Page } from '../../platform/dto/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { ListOfWorkspace, WorkspacesStore } from '../core/index.js';
import {
  PutWorkspaceMember,
  WorkspaceMemberPage,
  WorkspaceMemberRemovedView,
  WorkspaceMemberView,
} from './workspace-members.dto.js';
import { WorkspaceMembersStore, workspaceMemberView } from './workspace-members.store.js';

@Injectable()
export class WorkspaceMembersService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly members: WorkspaceMembersStore,
    private readonly events: Events,
    private readonly audit: Audit,
  ) {}

  onModuleInit(): void {
    this.events.on(memberRemoved, (unit, { organization_id, principal_id }) =>
      this.members.removeFromAll(unit, organization_id, principal_id),
    );
  }

  @Action('workspace_member_list', 'GET /api/workspaces/:workspaceId/members', {
    summary: 'List who made a workspace, and who was added to it by name',
    permission: 'workspace.read',
    input: ListOfWorkspace,
    output: WorkspaceMemberPage,
  })
  async list(actor: Actor, input: ListOfWorkspace): Promise<Page<WorkspaceMemberView>> {
    await this.workspaces.require(actor, 'workspace.read', input.workspace_id);
    const page = await this.members.list(input.workspace_id, input);
    return { ...page, items: page.items.map(workspaceMemberView) };
  }

  @Action('workspace_member_set', 'PUT /api/workspaces/:workspaceId/members/:userId', {
    summary: 'Add a member of the organization to a workspace, or change their role in it',
    consequence: 'They may then do whatever this role may in the workspace.',
    permission: 'workspace.members',
    input: PutWorkspaceMember,
    output: WorkspaceMemberView,
    refuses: { 409: 'The workspace is private, or they made it and stay its admin' },
  })
  async put(actor: Actor, { workspace_id, user_id, role }: PutWorkspaceMember): Promise<WorkspaceMemberView> {
    await this.database.transaction(async unit => {
      const workspace = await this.workspaces.requireLocked(unit, actor, 'workspace.members', workspace_id);
      if (workspace.visibility === 'private')
        throw new Conflict("A private workspace is its creator's alone; make it restricted to add people");
      if (role !== 'admin') requireNotCreator(workspace, user_id);
      await this.members.put(unit, workspace_id, user_id, role);
      await this.audit.record(unit, actor, 'workspace_member.put', targetOf(user_id, workspace), { role });
    });
    return workspaceMemberView(await this.members.read(workspace_id, user_id));
  }

  @Action('workspace_member_remove', 'DELETE /api/workspaces/:workspaceId/members/:userId', {
    summary: 'Take somebody out of a workspace; their access by name ends at once',
    effect: 'destructive',
    consequence: 'They lose access at once; they can be added again.',
    permission: 'workspace.members',
    input: ById({ workspace_id: 'The workspace', user_id: 'The person or service account' }),
    output: WorkspaceMemberRemovedView,
    refuses: { 409: 'They made the workspace' },
  })
  async remove(
    actor: Actor,
    { workspace_id, user_id }: ById<'workspace_id' | 'user_id'>,
  ): Promise<WorkspaceMemberRemovedView> {
    await this.database.transaction(async unit => {
      const workspace = await this.workspaces.requireLocked(unit, actor, 'workspace.members', workspace_id);
      requireNotCreator(workspace, user_id);
      await this.members.remove(unit, workspace_id, user_id);
      await this.audit.record(unit, actor, 'workspace_member.remove', targetOf(user_id, workspace));
    });
    return { user_id, removed: true };
  }
}

/** Refuses what would have no effect: whoever made a workspace is an admin there (409). */
function requireNotCreator({ created_by }: Row<'workspace'>, userId: string): void {
  if (created_by === userId)
    throw new Conflict('They made the workspace and stay an admin there while they are in its organization');
}

/** A member as the target of an entry of the audit log. */
const targetOf = (id: string, workspace: Row<'workspace'>) => ({
  type: 'principal',
  id,
  organization_id: workspace.organization_id,
  workspace_id: workspace.id,
});
