import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Mailer, writeLetter } from '../../platform/mail/index.js';
import { DueTimers } from '../../platform/schedule/index.js';
import { shortName } from '../../platform/text/index.js';
import { defineTopic } from '../../platform/topics/index.js';

interface AlertRow {
  scope_id: string;
  period: string;
  percent: number;
  organization: string;
  workspace: string | null;
  spent_usd: string;
  monthly_usd: string;
  owners: string[];
}

const ALERTS = defineTopic('budget-alerts')();
const AT_ONCE = 20;

/**
 * Mails the owners about alerts. An alert is marked in the transaction that hands over its mails, so that each is mailed
 * once, whoever comes first.
 */
@Injectable()
export class AlertMails implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly timers: DueTimers,
    private readonly mailer: Mailer,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: ALERTS,
      take: () => this.database.transaction(unit => this.handOver(unit)),
      failure: 'cannot mail budget alerts; trying again',
    });
  }

  private async handOver(unit: UnitOfWork): Promise<number> {
    const { rows } = await sql<AlertRow>`
      with taken as (
        update budget_alert a set mailed_at = now()
        from (
          select scope_id, period, percent from budget_alert where mailed_at is null order by created_at limit ${AT_ONCE}
          for update skip locked
        ) due
        where (a.scope_id, a.period, a.percent) = (due.scope_id, due.period, due.percent) returning a.*
      )
      select t.scope_id, to_char(t.period, 'YYYY-MM') as period, t.percent, t.spent_usd, t.monthly_usd,
        o.name as organization, w.name as workspace,
        array(select u.email from organization_member m join "user" u on u.id = m.user_id
          where m.organization_id = t.organization_id and m.role = 'owner' order by u.email) as owners
      from taken t join organization o on o.id = t.organization_id left join workspace w on w.id = t.workspace_id
      order by t.created_at, t.percent`.execute(unit.tables());
    for (const alert of rows)
      for (const to of alert.owners)
        await this.mailer.send(unit, { to, subject: subjectOf(alert), ...textOf(alert) });
    return rows.length;
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
