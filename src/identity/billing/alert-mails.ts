import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Mailer, writeLetter } from '../../platform/mail/index.js';
import { DueTimers } from '../../platform/schedule/index.js';
import { shortName } from '../../platform/text/index.js';
import { defineTopic } from '../../platform/topics/index.js';
import { type AlertRow, BudgetsStore } from './budgets.store.js';

const ALERTS = defineTopic('budget-alerts')();

/** Mails the owners about alerts, each once. */
@Injectable()
export class AlertMails implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly budgets: BudgetsStore,
    private readonly timers: DueTimers,
    private readonly mailer: Mailer,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: ALERTS,
      take: () => this.database.transaction(unit => this.enqueue(unit)),
      failure: 'cannot mail budget alerts; trying again',
    });
  }

  private async enqueue(unit: UnitOfWork): Promise<number> {
    const alerts = await this.budgets.takeAlerts(unit);
    for (const alert of alerts)
      for (const to of alert.owners)
        await this.mailer.send(unit, { to, subject: subjectOf(alert), ...textOf(alert) });
    return alerts.length;
  }
}

const nameOf = ({ organization, workspace }: AlertRow) =>
  workspace === null ? shortName(organization) : `${shortName(workspace)} (${shortName(organization)})`;

const subjectOf = (alert: AlertRow) =>
  `${nameOf(alert)} has spent ${alert.percent}% of its budget for ${alert.period}`;

function textOf(alert: AlertRow): { text: string; html: string } {
  const usd = (amount: string) => `$${Number(amount).toFixed(2)}`;
  return writeLetter({
    heading: `${alert.percent}% of the budget is spent`,
    paragraphs: [
      `${nameOf(alert)} has spent ${usd(alert.spent_usd)} of ${usd(alert.monthly_usd)} in ${alert.period}.`,
      'With a hard stop, model calls that do not fit into the budget are refused until it is raised or the month ends.',
    ],
    footer: 'You get this as an owner of the organization, once for each percentage and month.',
  });
}
