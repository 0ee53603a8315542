import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Events } from '../../platform/events/index.js';
import { DueTimers } from '../../platform/schedule/index.js';
import { defineTopic } from '../../platform/topics/index.js';
import { budgetAlerted } from './billing.events.js';
import { BudgetsStore } from './budgets.store.js';

const ALERTS = defineTopic('budget-alerts')();

/** Publishes the alerts that statements of the ledger leave in a table, as these cannot publish by themselves. */
@Injectable()
export class BudgetAlerts implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly budgets: BudgetsStore,
    private readonly timers: DueTimers,
    private readonly events: Events,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: ALERTS,
      take: () => this.database.transaction(unit => this.publish(unit)),
      failure: 'cannot publish budget alerts; trying again',
    });
  }

  private async publish(unit: UnitOfWork): Promise<number> {
    const alerts = await this.budgets.takeAlerts(unit);
    for (const alert of alerts) await this.events.publish(unit, budgetAlerted, alert);
    return alerts.length;
  }
}
