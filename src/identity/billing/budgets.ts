import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, SharedLookups } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, iso, type UnitOfWork } from '../../platform/database/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { defineTopic, Subscription, Topics } from '../../platform/topics/index.js';
import { type BudgetFields, BudgetView, DEFAULT_ALERTS } from './billing.dto.js';
import { BudgetReached } from './budget-reached.js';
import { alertOnChange, rearmAlerts } from './ledger.store.js';

/** Whose budget: an organization's, or that of one of its workspaces. */
export interface Scope {
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/** A model call that is about to be made. */
export interface PlannedSpend extends Scope {
  readonly runId: string;
  readonly attempt: number;
  readonly step: number;
  /** What it may cost; null where the model's price is not known. */
  readonly estimateUsd: number | null;
}

/** A backstop: what is held for a call is freed with its end, or replaced by its run's next attempt. */
const HELD_FOR = '1 hour';
const TIDY_MS = 3_600_000;

interface RefusalRow {
  scope_id: string;
  monthly_usd: string;
  spent_usd: string;
  is_full: boolean;
  held_until: string | null;
}

interface BudgetRow {
  monthly_usd: string | null;
  hard_stop: boolean;
  alerts: number[];
  spent_usd: string;
  held_usd: string;
  fired: { percent: number; at: string }[];
}

/** What an organization may spend has changed; a trigger publishes it. */
const budgetTopic = defineTopic('budget');

/** What organizations and workspaces may spend in a calendar month (UTC), and the hard stops that hold them to it. */
@Injectable()
export class Budgets {
  private readonly limited = new SharedLookups<boolean>();

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly audit: Audit,
  ) {}

  @Chore('budget_reservations', { everyMs: TIDY_MS })
  async removeExpiredReservations(): Promise<void> {
    await sql`delete from budget_reservation where expires_at < now()`.execute(this.database.tables());
  }

  /**
   * Holds what a model call may cost, so that calls that are made at the same time cannot pass a hard stop together.
   * Where only calls in flight are in the way, waits until one of them is paid or freed. Throws BudgetReached.
   */
  async admit(planned: PlannedSpend, signal: AbortSignal): Promise<void> {
    if (!(await this.reserve(planned))) return;
    const room = new Subscription(this.topics, budgetTopic(planned.organizationId));
    try {
      for (;;) {
        const refusal = await this.reserve(planned);
        if (!refusal) return;
        if (!refusal.is_full) throw reached(planned, refusal);
        const patience = Math.max(0, Date.parse(refusal.held_until ?? '') - Date.now()) || 0;
        await room.wait(AbortSignal.any([signal, AbortSignal.timeout(patience)]));
        signal.throwIfAborted();
      }
    } finally {
      room.close();
    }
  }

  /** Frees what was held for a call that failed. */
  async release({ runId, attempt, step }: Omit<PlannedSpend, 'estimateUsd'>): Promise<void> {
    await sql`delete from budget_reservation where run_id = ${runId} and attempt = ${attempt} and step = ${step}`.execute(
      this.database.tables(),
    );
  }

  /** Throws BudgetReached where a hard stop has no room for one more call, were all calls in flight free of charge. */
  async requireRoom({ organizationId, workspaceId }: Scope, estimateUsd: number | null): Promise<void> {
    if (!(await this.areLimited(organizationId, workspaceId))) return;
    const { rows } = await sql<RefusalRow>`
      select scope_id, monthly_usd, spent_usd, false as is_full, null as held_until
      from hard_stops(${organizationId}, ${workspaceId}, null)
      where spent_usd >= monthly_usd or spent_usd + ${estimateUsd}::numeric > monthly_usd limit 1`.execute(
      this.database.tables(),
    );
    if (rows[0]) throw reached({ organizationId, estimateUsd }, rows[0]);
  }

  /** Sets the budget of a scope; the caller has checked that `actor` may. */
  async set(unit: UnitOfWork, actor: Actor, scope: Scope, fields: BudgetFields): Promise<void> {
    const scopeId = idOf(scope);
    const { monthly_usd, hard_stop = true, alerts = DEFAULT_ALERTS } = fields;
    const percents = [...new Set(alerts)].sort((a, b) => a - b);
    await sql`
      insert into budget (scope_id, organization_id, workspace_id, monthly_usd, hard_stop, alerts, updated_at)
      values (${scopeId}, ${scope.organizationId}, ${scope.workspaceId}, ${monthly_usd}::numeric, ${hard_stop}, ${percents}::int[], now())
      on conflict (scope_id) do update set monthly_usd = excluded.monthly_usd, hard_stop = excluded.hard_stop,
        alerts = excluded.alerts, updated_at = excluded.updated_at, is_default = false`.execute(
      unit.tables(),
    );
    await rearmAlerts(unit, scopeId);
    await alertOnChange(unit, scopeId);
    await this.audit.record(unit, actor, {
      action: scope.workspaceId ? 'workspace_budget_set' : 'billing_budget_set',
      target_type: scope.workspaceId ? 'workspace' : 'organization',
      target_id: scopeId,
      organization_id: scope.organizationId,
      workspace_id: scope.workspaceId ?? undefined,
      details: { monthly_usd, hard_stop, alerts: percents },
    });
  }

  /** Gives a new scope the budget that another has, if it has one; nothing is spent of it. */
  async copy(unit: UnitOfWork, fromScopeId: string, { organizationId, workspaceId }: Scope): Promise<void> {
    await sql`
      insert into budget (scope_id, organization_id, workspace_id, monthly_usd, hard_stop, alerts, updated_at)
      select ${idOf({ organizationId, workspaceId })}, ${organizationId}, ${workspaceId}, monthly_usd, hard_stop, alerts, now()
      from budget where scope_id = ${fromScopeId}`.execute(unit.tables());
  }

  /** The budget of a scope and how it stands this month. */
  async view(scope: Scope): Promise<BudgetView> {
    const scopeId = idOf(scope);
    const column = sql.ref(scope.workspaceId ? 'workspace_id' : 'organization_id');
    const { rows } = await sql<BudgetRow>`
      select b.monthly_usd, coalesce(b.hard_stop, true) as hard_stop, coalesce(b.alerts, ${DEFAULT_ALERTS}::int[]) as alerts,
        coalesce(s.spent_usd, 0) as spent_usd,
        (select coalesce(sum(amount_usd), 0) from budget_reservation
          where ${column} = ${scopeId} and expires_at > now()) as held_usd,
        (select coalesce(jsonb_agg(jsonb_build_object('percent', percent, 'at', created_at) order by percent), '[]')
          from budget_alert where scope_id = ${scopeId} and period = this_month()) as fired
      from (select ${scopeId}::uuid as scope_id) x
      left join budget b on b.scope_id = x.scope_id
      left join spend s on s.scope_id = x.scope_id and s.period = this_month()`.execute(
      this.database.tables(),
    );
    const [row] = rows;
    if (!row) throw new Error('The state of a budget is always one row');
    return budgetView(row);
  }

  /** Whether any hard stop stands over a place: mostly there is none, and those who ask at the same time are told together. */
  private areLimited(organizationId: string, workspaceId: string | null): Promise<boolean> {
    return this.limited.get(`${organizationId} ${workspaceId}`, async () => {
      const { rows } = await sql<{ limited: boolean }>`
        select exists (select from budget where scope_id in (${organizationId}, ${workspaceId}) and hard_stop
          and monthly_usd is not null) as limited`.execute(this.database.tables());
      return rows[0]?.limited === true;
    });
  }

  private async reserve(planned: PlannedSpend): Promise<RefusalRow | undefined> {
    const { runId, attempt, step, organizationId, workspaceId, estimateUsd } = planned;
    if (!(await this.areLimited(organizationId, workspaceId))) return undefined;
    const { rows } = await sql<RefusalRow>`
      select * from reserve_spend(${runId}, ${attempt}, ${step}, ${organizationId}, ${workspaceId}, ${estimateUsd}::numeric,
        ${HELD_FOR}::interval)`.execute(this.database.tables());
    return rows[0];
  }
}

const idOf = ({ organizationId, workspaceId }: Scope) => workspaceId ?? organizationId;

function reached(
  { organizationId, estimateUsd }: Pick<PlannedSpend, 'organizationId' | 'estimateUsd'>,
  { scope_id, monthly_usd, spent_usd }: RefusalRow,
): BudgetReached {
  const kind = scope_id === organizationId ? 'organization' : 'workspace';
  return new BudgetReached(
    { kind, monthlyUsd: Number(monthly_usd), spentUsd: Number(spent_usd) },
    estimateUsd,
  );
}

function budgetView(row: BudgetRow): BudgetView {
  const { hard_stop, alerts, fired } = row;
  const monthly_usd = row.monthly_usd === null ? null : Number(row.monthly_usd);
  const spent_usd = Number(row.spent_usd);
  const remaining_usd = monthly_usd === null ? null : Math.max(0, monthly_usd - spent_usd);
  return {
    monthly_usd,
    hard_stop,
    alerts,
    spent_usd,
    held_usd: Number(row.held_usd),
    remaining_usd,
    state: stateOf(monthly_usd, spent_usd, alerts),
    alerts_fired: fired.map(({ percent, at }) => ({ percent, at: iso(at) })),
  };
}

function stateOf(monthlyUsd: number | null, spentUsd: number, alerts: number[]): BudgetView['state'] {
  if (monthlyUsd === null) return 'none';
  if (spentUsd >= monthlyUsd) return 'reached';
  return alerts.some(percent => spentUsd > 0 && spentUsd >= (monthlyUsd * percent) / 100) ? 'alert' : 'ok';
}
