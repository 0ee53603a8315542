import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { WorkspaceId, WorkspacesStore } from '../../workspaces/core/index.js';
import { requirePerson } from './approval-access.js';
import { ApprovalPolicies } from './approval-policies.store.js';
import { ApprovalPolicyView, UpdateApprovalPolicy } from './approvals.dto.js';

/** What the agents of a workspace must ask for. */
@Injectable()
export class ApprovalPoliciesService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly policies: ApprovalPolicies,
  ) {}

  @Action('approval_policy_get', 'GET /api/workspaces/:workspaceId/approval-policy', {
    summary: 'Tell what agents of a workspace may do by themselves, and what people are asked about',
    permission: 'approval.read',
    input: WorkspaceId,
    output: ApprovalPolicyView,
  })
  async read(actor: Actor, { workspace_id }: WorkspaceId): Promise<ApprovalPolicyView> {
    const { id } = await this.workspaces.require(actor, 'approval.read', workspace_id);
    return { workspace_id: id, ...(await this.policies.of(id)) };
  }

  @Action('approval_policy_update', 'PATCH /api/workspaces/:workspaceId/approval-policy', {
    summary:
      'Set what agents of a workspace may do by themselves; runs in flight keep to it from their next call on',
    consequence: 'Agents of the workspace may then do more, or less, without asking a person.',
    permission: 'workspace.update',
    personOnly: true,
    input: UpdateApprovalPolicy,
    output: ApprovalPolicyView,
  })
  async update(
    actor: Actor,
    { workspace_id, ...changes }: UpdateApprovalPolicy,
  ): Promise<ApprovalPolicyView> {
    const workspace = await this.workspaces.require(actor, 'workspace.update', workspace_id);
    const { id } = workspace;
    requirePerson(actor, 'change what agents must ask for');
    await this.policies.set(actor, workspace, changes);
    return { workspace_id: id, ...(await this.policies.of(id)) };
  }
}
