import { Injectable } from '@nestjs/common';
import { daysAfter, instantOf, localTimeOf } from '#libs/zoned-time/index.js';
import type { UnitOfWork } from '../../../platform/database/index.js';
import type { AutomationDefinition } from '../file/automation-definition.js';
import { AutomationRunsStore } from '../records/automation-runs.store.js';

/** A limit of an automation that is reached, until the day turns in its time zone. */
export interface ReachedDayLimit {
  readonly reason: 'runs_per_day' | 'daily_usd';
  readonly until: Date;
}

/** What the runs of one automation may be and spend in a day. People who ask for a run are not bound by it. */
@Injectable()
export class DayLimits {
  constructor(private readonly runs: AutomationRunsStore) {}

  async reached(
    unit: UnitOfWork,
    deploymentId: string,
    { limits: { runsPerDay, dailyUsd }, triggers }: AutomationDefinition,
  ): Promise<ReachedDayLimit | undefined> {
    if (runsPerDay === null && dailyUsd === null) return undefined;
    const schedule = triggers.find(({ kind }) => kind === 'schedule');
    const zone = schedule?.kind === 'schedule' ? schedule.timezone : 'UTC';
    const { date } = localTimeOf(new Date(), zone);
    const spent = await this.runs.since(unit, deploymentId, instantOf({ date, time: '00:00' }, zone));
    const until = instantOf({ date: daysAfter(date, 1), time: '00:00' }, zone);
    if (dailyUsd !== null && spent.usd >= dailyUsd) return { reason: 'daily_usd', until };
    if (runsPerDay !== null && spent.runs >= runsPerDay) return { reason: 'runs_per_day', until };
    return undefined;
  }
}
