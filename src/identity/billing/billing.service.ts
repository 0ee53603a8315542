import { Injectable } from '@nestjs/common';
import { type Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, iso } from '../../platform/database/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { OrganizationId, OrganizationsStore } from '../organizations/index.js';
import { BillingView, BudgetView, ReadUsage, SetBudget, UsageReportView } from './billing.dto.js';
import { Budgets, DefaultBudgets } from './budgets.js';
import { UsageStore } from './usage.store.js';

/** A stretch of time; its end is not part of it. */
interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** The calendar month (UTC) that `now` is in. */
function monthOf(now: Date): Period {
  const month = (offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset));
  return { from: month(0), to: month(1) };
}

/** The period that a request names; what it leaves out is the beginning of this month, and now. */
function periodOf({ from, to }: { from?: string; to?: string }, now: Date): Period {
  const period = {
    from: from === undefined ? monthOf(now).from : utc('from', from),
    to: to === undefined ? now : utc('to', to),
  };
  if (period.from > period.to) throw new Invalid('from must not be later than to');
  return period;
}

/** A time without a zone is UTC, also where the service runs in another. */
function utc(field: string, text: string): Date {
  const hasZone = /(Z|[+-]\d\d(:?\d\d)?)$/i.test(text) && text.includes('T');
  const time = new Date(hasZone || !text.includes('T') ? text : `${text}Z`);
  const year = time.getUTCFullYear();
  if (Number.isNaN(time.getTime()) || year < 1970 || year > 9999)
    throw new Invalid(`${field} must be an ISO 8601 time, e.g. 2026-11-01T00:00:00Z`);
  return time;
}

/** What an organization uses and spends. */
@Injectable()
export class BillingService {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
    private readonly usage: UsageStore,
    private readonly budgets: Budgets,
    private readonly defaults: DefaultBudgets,
    private readonly config: Config,
  ) {}

  @Action('billing_get', 'GET /api/organizations/:orgId/billing', {
    summary: "Tell an organization's plan, limits, usage and spending of this month, and its budget",
    permission: 'billing.read',
    input: OrganizationId,
    output: BillingView,
  })
  async read(actor: Actor, { organization_id }: OrganizationId): Promise<BillingView> {
    const { id } = await this.organizations.require(actor, 'billing.read', organization_id);
    const month = monthOf(new Date());
    const [{ total: usage }, budget] = await Promise.all([
      this.usage.sums(reachOf(actor, id), month),
      actor.credential.workspace_ids ? null : this.budgets.view({ organizationId: id, workspaceId: null }),
    ]);
    const { spend_usd, unpriced_calls } = usage;
    const period = periodView(month);
    return { plan: 'self-hosted', limits: this.limits, period, usage, spend_usd, unpriced_calls, budget };
  }

  @Action('billing_usage_get', 'GET /api/organizations/:orgId/billing/usage', {
    summary: 'Sum up what an organization used in a period, by workspace, model, user, automation or day',
    permission: 'billing.read',
    input: ReadUsage,
    output: UsageReportView,
  })
  async readUsage(actor: Actor, input: ReadUsage): Promise<UsageReportView> {
    const { group_by = 'day' } = input;
    const { id } = await this.organizations.require(actor, 'billing.read', input.organization_id);
    const period = periodOf(input, new Date());
    const sums = await this.usage.sums(reachOf(actor, id), period, group_by);
    return { ...periodView(period), group_by, ...sums };
  }

  @Action('organization_budget_set', 'PUT /api/organizations/:orgId/billing/budget', {
    summary: 'Set what an organization may spend in a month',
    consequence: 'The organization may then spend more, or less, of its money.',
    permission: 'billing.update',
    input: SetBudget,
    output: BudgetView,
  })
  async setBudget(actor: Actor, { organization_id, ...fields }: SetBudget): Promise<BudgetView> {
    await this.organizations.require(actor, 'billing.update', organization_id);
    await this.defaults.requireWithin(actor, fields);
    const scope = await this.database.transaction(async unit => {
      const { id } = await this.organizations.requireLocked(unit, actor, 'billing.update', organization_id);
      const scope = { organizationId: id, workspaceId: null };
      await this.budgets.set(unit, actor, scope, fields);
      return scope;
    });
    return this.budgets.view(scope);
  }

  private get limits() {
    const { workspaceLimits, runLimits, sandboxLimits } = this.config;
    return {
      file_bytes: workspaceLimits.file_bytes,
      run_steps: runLimits.steps,
      sandbox_seconds: sandboxLimits.seconds,
      sandbox_memory_bytes: sandboxLimits.memory,
    };
  }
}

const periodView = ({ from, to }: Period) => ({ from: iso(from), to: iso(to) });

/** A credential that is limited to workspaces sees what these used. */
const reachOf = ({ credential }: Actor, organizationId: string) => ({
  organizationId,
  workspaceIds: credential.workspace_ids,
});
