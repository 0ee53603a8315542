import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { budgetAlerted, budgetStopped } from '../../../identity/billing/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

type Scope = Pick<Notice, 'organization_id'> & { workspace_id: string | null; period: string };

/** What is spent. The owners of the organization are notified, who may not see the workspace but answer for its bill. */
@Injectable()
export class BudgetsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(budgetAlerted, 'budget.alert', async alert => {
      const { percent, period, created_at, spent_usd, monthly_usd } = alert;
      const name = nameOf(alert.organization, alert.workspace);
      return {
        ...this.about(alert, `${percent}:${created_at}`),
        title: `${name} has spent ${percent}% of its budget for ${period}`,
        body: `${name} has spent ${usd(spent_usd)} of ${usd(monthly_usd)} in ${period}. With a hard stop, model calls that do not fit into the budget are refused until it is raised or the month ends.`,
      };
    });
    this.notifier.on(budgetStopped, 'budget.stopped', async stop => {
      const { organization_id, workspace_id, period, monthly_usd } = stop;
      const organization = await this.store.organizationName(organization_id);
      const workspace = workspace_id && ((await this.store.workspaceName(workspace_id)) ?? null);
      if (organization === undefined) return undefined;
      const name = nameOf(organization, workspace);
      return {
        ...this.about(stop, monthly_usd),
        title: `Model calls of ${name} are refused`,
        body: `The budget for ${period}, ${usd(monthly_usd)}, has no room for them. It starts anew with the next month (UTC), unless it is raised.`,
      };
    });
  }

  private about(
    { organization_id, workspace_id, period }: Scope,
    what: string,
  ): Omit<Notice, 'title' | 'body'> {
    return {
      audience: { organizationRoles: ['owner'] },
      organization_id,
      workspace_id: null,
      about: `${workspace_id ?? organization_id}:${period}:${what}`,
      data: workspace_id ? { budget_workspace_id: workspace_id } : {},
    };
  }
}

const nameOf = (organization: string, workspace: string | null): string =>
  workspace === null ? shortName(organization) : `${shortName(workspace)} (${shortName(organization)})`;

const usd = (amount: string): string => `$${Number(amount).toFixed(2)}`;
