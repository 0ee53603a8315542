import { Injectable, OnModuleInit } from '@nestjs/common';
import { BudgetFields, Budgets, BudgetView } from '../../identity/billing/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Database } from '../../platform/database/index.js';
import { Field } from '../../platform/dto/index.js';
import { WorkspaceId, WorkspacesStore } from '../../workspaces/core/index.js';
import { DuplicateService } from '../../workspaces/duplicate/index.js';

export class SetWorkspaceBudget extends BudgetFields {
  @Field.id('The workspace') workspace_id: string;
}

/** What the agents of a workspace may spend, within what its organization may. */
@Injectable()
export class WorkspaceBudgetsService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly budgets: Budgets,
    private readonly duplicates: DuplicateService,
  ) {}

  onModuleInit(): void {
    this.duplicates.inheritWith((unit, from, { id: workspaceId, organization_id: organizationId }) =>
      this.budgets.copy(unit, from, { organizationId, workspaceId }),
    );
  }

  @Action('workspace_budget_get', 'GET /api/workspaces/:workspaceId/budget', {
    summary: "Tell a workspace's budget and what is spent of it this month",
    permission: 'budget.read',
    input: WorkspaceId,
    output: BudgetView,
  })
  async read(actor: Actor, { workspace_id }: WorkspaceId): Promise<BudgetView> {
    const { id, organization_id } = await this.workspaces.require(actor, 'budget.read', workspace_id);
    return this.budgets.view({ organizationId: organization_id, workspaceId: id });
  }

  @Action('workspace_budget_set', 'PUT /api/workspaces/:workspaceId/budget', {
    summary: 'Set what the agents of a workspace may spend in a month',
    consequence: 'The agents of the workspace may then spend more, or less, of the organization’s money.',
    permission: 'budget.update',
    input: SetWorkspaceBudget,
    output: BudgetView,
  })
  async set(actor: Actor, { workspace_id, ...fields }: SetWorkspaceBudget): Promise<BudgetView> {
    const scope = await this.database.transaction(async unit => {
      const { id, organization_id: organizationId } = await this.workspaces.requireLocked(
        unit,
        actor,
        'budget.update',
        workspace_id,
      );
      const scope = { organizationId, workspaceId: id };
      await this.budgets.set(unit, actor, scope, fields);
      return scope;
    });
    return this.budgets.view(scope);
  }
}
