import { Injectable, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { type Actor, SharedLookups } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Forbidden, PaymentRequired } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { defineTopic, Subscription, Topics } from '../../platform/topics/index.js';
import { OrganizationsStore, organizationFounded } from '../organizations/index.js';
import { type BudgetFields, type BudgetView, DEFAULT_ALERTS } from './billing.dto.js';
import { budgetStopped } from './billing.events.js';
import { BudgetsStore, idOf, type PlannedSpend, type RefusalRow, type Scope } from './budgets.store.js';
import { rearmAlerts } from './ledger.store.js';

/** What an organization may spend has changed; a trigger publishes it. */
const budgetTopic = defineTopic('budget');

/** A budget with a hard stop has no room for a model call (402). */
export class BudgetReached extends PaymentRequired {
  static by({ organizationId }: Scope, refusal: RefusalRow, estimateUsd: number): BudgetReached {
    const [monthly, spent] = [Number(refusal.monthly_usd), Number(refusal.spent_usd)];
    const kind = refusal.scope_id === organizationId ? 'organization' : 'workspace';
    const budget = `The monthly budget of the ${kind}, ${usd(monthly)},`;
    const what =
      spent >= monthly
        ? `${budget} is reached`
        : `${budget} leaves ${usd(monthly - spent)}, and the next model call may cost ${usd(estimateUsd)}`;
    return new BudgetReached(`${what}; an admin can raise it, and it starts anew with the next month (UTC)`);
  }

  static unpriced(): BudgetReached {
    return new BudgetReached(
      'The price of this model is not known, and a monthly budget with a hard stop applies here: choose a model with a price; an operator can set one in MODEL_PRICES (0 is a price)',
    );
  }
}

/** What organizations and workspaces may spend in a calendar month (UTC), and the hard stops that hold them to it. */
@Injectable()
export class Budgets {
  /** In which month a stop was last published, by scope. */
  private readonly stopped = new Map<string, string>();
  private readonly limited = new SharedLookups<boolean>();

  constructor(
    private readonly store: BudgetsStore,
    private readonly topics: Topics,
    private readonly audit: Audit,
    private readonly database: Database,
    private readonly events: Events,
  ) {}

  /**
   * Reserves what a model call may cost, so that calls that are made at the same time cannot pass a hard stop together.
   * Where only calls in flight are in the way, waits until one of them is paid or released. Throws BudgetReached.
   */
  async admit(call: PlannedSpend, signal: AbortSignal): Promise<void> {
    if (!(await this.isLimited(call))) return;
    const { estimateUsd } = call;
    if (estimateUsd === null) throw BudgetReached.unpriced();
    if (!(await this.store.reserve(call))) return;
    const room = new Subscription(this.topics, budgetTopic(call.organizationId));
    try {
      for (;;) {
        const refusal = await this.reserve(call);
        if (!refusal) return;
        if (!refusal.is_full) throw await this.refused(call, refusal, estimateUsd);
        const timeout = Math.max(0, Date.parse(refusal.held_until ?? '') - Date.now()) || 0;
        await room.wait(AbortSignal.any([signal, AbortSignal.timeout(timeout)]));
        signal.throwIfAborted();
      }
    } finally {
      room.close();
    }
  }

  /** Releases what was reserved for a call that failed. */
  release(planned: Omit<PlannedSpend, 'estimateUsd'>): Promise<void> {
    return this.store.release(planned);
  }

  /**
   * Throws BudgetReached where a hard stop has no room for one more call, were all calls in flight free of charge, or where
   * it cannot count the call (null).
   */
  async requireRoom(scope: Scope, estimateUsd: number | null): Promise<void> {
    if (!(await this.isLimited(scope))) return;
    if (estimateUsd === null) throw BudgetReached.unpriced();
    const refusal = await this.store.findReached(scope, estimateUsd);
    if (refusal) throw await this.refused(scope, refusal, estimateUsd);
  }

  /** Whether a model call would be refused by now, whatever it costs; for a transaction that decides by it. */
  async isReached(unit: UnitOfWork, scope: Scope): Promise<boolean> {
    return (await this.store.findReached(scope, null, unit)) !== undefined;
  }

  /** Sets the budget of a scope; the caller has checked that `actor` may. */
  async set(unit: UnitOfWork, actor: Actor, scope: Scope, fields: BudgetFields): Promise<void> {
    const { monthly_usd, hard_stop = true } = fields;
    const alerts = [...new Set(fields.alerts ?? DEFAULT_ALERTS)].sort((a, b) => a - b);
    await this.store.set(unit, scope, { monthly_usd, hard_stop, alerts });
    const { organizationId: organization_id, workspaceId: workspace_id } = scope;
    const type = workspace_id ? 'workspace' : 'organization';
    const target = { type, id: idOf(scope), organization_id, workspace_id };
    const action = workspace_id ? 'workspace_budget_set' : 'billing_budget_set';
    await this.audit.record(unit, actor, action, target, { monthly_usd, hard_stop, alerts });
  }

  /** Gives a new scope the budget that another has, if it has one; nothing is spent of it. */
  copy(unit: UnitOfWork, fromScopeId: string, scope: Scope): Promise<void> {
    return this.store.copy(unit, fromScopeId, scope);
  }

  /** The budget of a scope and how it stands this month. */
  view(scope: Scope): Promise<BudgetView> {
    return this.store.view(scope);
  }

  /** Mostly there is no hard stop, and calls that ask at the same time share one lookup. */
  private isLimited(scope: Scope): Promise<boolean> {
    const key = `${scope.organizationId} ${scope.workspaceId}`;
    return this.limited.get(key, () => this.store.hasHardStop(scope));
  }

  /** What to throw. It may be thrown often, and is published once a month by this process, and again for a raised budget. */
  private async refused(scope: Scope, refusal: RefusalRow, estimateUsd: number): Promise<BudgetReached> {
    const { scope_id, monthly_usd } = refusal;
    const { organizationId: organization_id } = scope;
    const period = new Date().toISOString().slice(0, 7);
    const stop = `${monthly_usd} for ${period}`;
    if (this.stopped.get(scope_id) !== stop) {
      const workspace_id = scope_id === organization_id ? null : scope_id;
      await this.database.transaction(unit => {
        unit.afterCommit(() => this.stopped.set(scope_id, stop));
        return this.events.publish(unit, budgetStopped, {
          organization_id,
          workspace_id,
          period,
          monthly_usd,
        });
      });
    }
    return BudgetReached.by(scope, refusal, estimateUsd);
  }

  private async reserve(planned: PlannedSpend): Promise<RefusalRow | undefined> {
    return (await this.isLimited(planned)) ? this.store.reserve(planned) : undefined;
  }
}

/**
 * The budget that the installation gives each organization. It is a row like any other, so that a hard stop is found in
 * one place; it follows the setting until a budget is set for the organization.
 */
@Injectable()
export class DefaultBudgets implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly events: Events,
    private readonly organizations: OrganizationsStore,
    private readonly store: BudgetsStore,
  ) {}

  onModuleInit(): void {
    this.events.on(organizationFounded, async (unit, { organization_id }) => {
      const { organizationBudgetUsd: usd } = this.config;
      if (usd !== undefined) await this.store.setDefault(unit, usd, organization_id);
    });
  }

  /** Those that are there already follow the setting as it is now. */
  async onApplicationBootstrap(): Promise<void> {
    const { organizationBudgetUsd: usd } = this.config;
    await this.database.transaction(async unit => {
      if (usd === undefined) await this.store.removeDefaults(unit);
      else await this.store.setDefault(unit, usd, null);
      await rearmAlerts(unit, null);
    });
  }

  /** Throws Forbidden where the caller sets more than the installation gives and does not own it. */
  async requireWithin(actor: Actor, { monthly_usd, hard_stop = true }: BudgetFields): Promise<void> {
    const { organizationBudgetUsd: max } = this.config;
    if (max === undefined || (monthly_usd !== null && monthly_usd <= max && hard_stop)) return;
    if (!(await this.organizations.isInstallationOwner(actor)))
      throw new Forbidden(
        `Only an owner of this installation may set a budget of more than $${max}, or one without a hard stop`,
      );
  }
}

const usd = (amount: number): string =>
  `$${amount >= 0.01 || amount === 0 ? amount.toFixed(2) : amount.toPrecision(2)}`;
