import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, iso, type UnitOfWork } from '../../platform/database/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { type BudgetFields, BudgetView, DEFAULT_ALERTS } from './billing.dto.js';
import type { BudgetAlert } from './billing.events.js';
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

/** A budget with a hard stop that has no room for a model call. */
export interface RefusalRow {
  scope_id: string;
  monthly_usd: string;
  spent_usd: string;
  /** Only calls in flight are in the way. */
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

/** A backstop: a reservation ends with its call, or is replaced by the next attempt of its run. */
const RESERVED_FOR = '1 hour';
const HOUR_MS = 3_600_000;
const ALERTS_AT_ONCE = 20;

export const idOf = ({ organizationId, workspaceId }: Scope) => workspaceId ?? organizationId;

/**
 * Budgets, and reservations for model calls in flight. A reservation is no lease: it belongs to an attempt of a run, whose
 * number is its fence, and the lease on the run ends that attempt where its process is gone.
 */
@Injectable()
export class BudgetsStore {
  constructor(private readonly database: Database) {}

  @Chore('budget_reservations', { everyMs: HOUR_MS })
  async removeExpiredReservations(): Promise<void> {
    await sql`delete from budget_reservation where expires_at < now()`.execute(this.tables);
  }

  /** Reserves what a call may cost, or answers the budget that keeps it from being made. */
  async reserve(planned: PlannedSpend): Promise<RefusalRow | undefined> {
    const { runId, attempt, step, organizationId, workspaceId, estimateUsd } = planned;
    const { rows } = await sql<RefusalRow>`
      select * from reserve_spend(${runId}, ${attempt}, ${step}, ${organizationId}, ${workspaceId}, ${estimateUsd}::numeric,
        ${RESERVED_FOR}::interval)`.execute(this.tables);
    return rows[0];
  }

  async release({ runId, attempt, step }: Omit<PlannedSpend, 'estimateUsd'>): Promise<void> {
    await sql`delete from budget_reservation where run_id = ${runId} and attempt = ${attempt} and step = ${step}`.execute(
      this.tables,
    );
  }

  /** Whether any budget of a scope has a hard stop. */
  async hasHardStop({ organizationId, workspaceId }: Scope): Promise<boolean> {
    const { rows } = await sql`
      select from budget where scope_id in (${organizationId}, ${workspaceId}) and hard_stop and monthly_usd is not null
      limit 1`.execute(this.tables);
    return rows.length > 0;
  }

  /** The hard stop that has no room for one more call, were all calls in flight free of charge. */
  async findReached(
    scope: Scope,
    estimateUsd: number | null,
    within: Pick<Database, 'tables'> = this.database,
  ): Promise<RefusalRow | undefined> {
    const { rows } = await sql<RefusalRow>`
      select scope_id, monthly_usd, spent_usd, false as is_full, null as held_until
      from hard_stops(${scope.organizationId}, ${scope.workspaceId}, null)
      where spent_usd >= monthly_usd or spent_usd + ${estimateUsd}::numeric > monthly_usd limit 1`.execute(
      within.tables(),
    );
    return rows[0];
  }

  async set(unit: UnitOfWork, scope: Scope, fields: Required<BudgetFields>): Promise<void> {
    const scopeId = idOf(scope);
    const { monthly_usd, hard_stop, alerts } = fields;
    await sql`
      insert into budget (scope_id, organization_id, workspace_id, monthly_usd, hard_stop, alerts, updated_at)
      values (${scopeId}, ${scope.organizationId}, ${scope.workspaceId}, ${monthly_usd}::numeric, ${hard_stop}, ${alerts}::int[], now())
      on conflict (scope_id) do update set monthly_usd = excluded.monthly_usd, hard_stop = excluded.hard_stop,
        alerts = excluded.alerts, updated_at = excluded.updated_at, is_default = false`.execute(
      unit.tables(),
    );
    await rearmAlerts(unit, scopeId);
    await alertOnChange(unit, scopeId);
  }

  /** Gives a new scope the budget that another has, if it has one; nothing is spent of it. */
  async copy(unit: UnitOfWork, fromScopeId: string, { organizationId, workspaceId }: Scope): Promise<void> {
    await sql`
      insert into budget (scope_id, organization_id, workspace_id, monthly_usd, hard_stop, alerts, updated_at)
      select ${idOf({ organizationId, workspaceId })}, ${organizationId}, ${workspaceId}, monthly_usd, hard_stop, alerts, now()
      from budget where scope_id = ${fromScopeId}`.execute(unit.tables());
  }

  /** Gives an organization (null: each of them) the budget of the installation, unless one was set for it. */
  async setDefault(unit: UnitOfWork, usd: number, organizationId: string | null): Promise<void> {
    await sql`
      insert into budget (scope_id, organization_id, workspace_id, monthly_usd, hard_stop, alerts, updated_at, is_default)
      select o.id, o.id, null, ${usd}::numeric, true, ${DEFAULT_ALERTS}::int[], now(), true from organization o
      where ${organizationId}::uuid is null or o.id = ${organizationId} order by o.id
      on conflict (scope_id) do update set monthly_usd = excluded.monthly_usd, updated_at = excluded.updated_at
      where budget.is_default and budget.monthly_usd <> excluded.monthly_usd`.execute(unit.tables());
  }

  async removeDefaults(unit: UnitOfWork): Promise<void> {
    await sql`delete from budget where is_default`.execute(unit.tables());
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
      left join spend s on s.scope_id = x.scope_id and s.period = this_month()`.execute(this.tables);
    const [row] = rows;
    if (!row) throw new Error('The state of a budget is always one row');
    return budgetView(row);
  }

  /** Marks alerts as mailed, for mails in the same transaction: each is mailed once, by whichever process comes first. */
  async takeAlerts(unit: UnitOfWork): Promise<BudgetAlert[]> {
    const { rows } = await sql<BudgetAlert>`
      with taken as (
        update budget_alert a set mailed_at = now()
        from (
          select scope_id, period, percent from budget_alert where mailed_at is null order by created_at
          limit ${ALERTS_AT_ONCE} for update skip locked
        ) due
        where (a.scope_id, a.period, a.percent) = (due.scope_id, due.period, due.percent) returning a.*
      )
      select t.organization_id, t.workspace_id, to_char(t.period, 'YYYY-MM') as period, t.percent, t.spent_usd,
        t.monthly_usd, t.created_at, o.name as organization, w.name as workspace
      from taken t join organization o on o.id = t.organization_id left join workspace w on w.id = t.workspace_id
      order by t.created_at, t.percent`.execute(unit.tables());
    return rows;
  }

  private get tables() {
    return this.database.tables();
  }
}

function budgetView(row: BudgetRow): BudgetView {
  const { hard_stop, alerts, fired } = row;
  const monthly_usd = row.monthly_usd === null ? null : Number(row.monthly_usd);
  const spent_usd = Number(row.spent_usd);
  return {
    monthly_usd,
    hard_stop,
    alerts,
    spent_usd,
    held_usd: Number(row.held_usd),
    remaining_usd: monthly_usd === null ? null : Math.max(0, monthly_usd - spent_usd),
    state: stateOf(monthly_usd, spent_usd, alerts),
    alerts_fired: fired.map(({ percent, at }) => ({ percent, at: iso(at) })),
  };
}

function stateOf(monthlyUsd: number | null, spentUsd: number, alerts: number[]): BudgetView['state'] {
  if (monthlyUsd === null) return 'none';
  if (spentUsd >= monthlyUsd) return 'reached';
  return alerts.some(percent => spentUsd > 0 && spentUsd >= (monthlyUsd * percent) / 100) ? 'alert' : 'ok';
}
