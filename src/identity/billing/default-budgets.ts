import { Injectable, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Actor } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Forbidden } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { OrganizationsStore, organizationFounded } from '../organizations/index.js';
import { type BudgetFields, DEFAULT_ALERTS } from './billing.dto.js';
import { rearmAlerts } from './ledger.store.js';

/**
 * The budget that the installation gives each organization. It is a row like any other, so that a hard stop is found in
 * one place; it follows the setting until somebody sets a budget for the organization.
 */
@Injectable()
export class DefaultBudgets implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly events: Events,
    private readonly organizations: OrganizationsStore,
  ) {}

  onModuleInit(): void {
    this.events.on(organizationFounded, (unit, { organization_id }) =>
      this.give(unit, sql`where o.id = ${organization_id}`),
    );
  }

  /** Those that are there already follow the setting as it is now. */
  async onApplicationBootstrap(): Promise<void> {
    await this.database.transaction(async unit => {
      if (this.config.organizationBudgetUsd === undefined)
        await sql`delete from budget where is_default`.execute(unit.tables());
      else await this.give(unit, sql``);
      await rearmAlerts(unit, null);
    });
  }

  /** Throws Forbidden where the caller sets more than the installation gives and does not own it. */
  async requireWithin(actor: Actor, { monthly_usd, hard_stop = true }: BudgetFields): Promise<void> {
    const { organizationBudgetUsd: most } = this.config;
    if (most === undefined || (monthly_usd !== null && monthly_usd <= most && hard_stop)) return;
    if (!(await this.organizations.isInstallationOwner(actor)))
      throw new Forbidden(
        `Only an owner of this installation may set a budget of more than $${most}, or one without a hard stop`,
      );
  }

  private async give(unit: UnitOfWork, where: RawBuilder<unknown>): Promise<void> {
    const { organizationBudgetUsd: usd } = this.config;
    if (usd === undefined) return;
    await sql`
      insert into budget (scope_id, organization_id, workspace_id, monthly_usd, hard_stop, alerts, updated_at, is_default)
      select o.id, o.id, null, ${usd}::numeric, true, ${DEFAULT_ALERTS}::int[], now(), true from organization o ${where}
      order by o.id
      on conflict (scope_id) do update set monthly_usd = excluded.monthly_usd, updated_at = excluded.updated_at
      where budget.is_default and budget.monthly_usd <> excluded.monthly_usd`.execute(unit.tables());
  }
}
