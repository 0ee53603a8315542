import { Injectable } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import {
  AutomationRunsStore,
  automationCompleted,
  automationFailed,
  automationPaused,
  DeploymentsStore,
  type RunOutcome,
} from '../records/index.js';

/** Ends that say nothing of the automation itself. */
const NEUTRAL = ['stopped', 'replaced', 'budget_stopped'];

/** Writes the ends of runs, and what follows from them for their deployment. */
@Injectable()
export class RunEnds {
  constructor(
    private readonly database: Database,
    private readonly runs: AutomationRunsStore,
    private readonly deployments: DeploymentsStore,
    private readonly events: Events,
  ) {}

  /** Ends a run, once. */
  async end(unit: UnitOfWork, id: string, outcome: RunOutcome): Promise<void> {
    const run = await this.runs.finish(unit, id, outcome);
    if (!run?.deployment_id) return;
    const { status, stop_reason } = outcome;
    if (stop_reason !== null && NEUTRAL.includes(stop_reason)) return;
    const isSuccess = status === 'completed';
    const deployment = await this.deployments.count(unit, run.deployment_id, isSuccess);
    await this.events.publish(unit, isSuccess ? automationCompleted : automationFailed, { run_id: id });
    if (isSuccess || deployment?.state !== 'live') return;
    const version = await this.deployments.version(deployment.id, deployment.version, unit);
    const { pauseAfter = null } = version?.definition ?? {};
    if (stop_reason === 'authority_lost')
      await this.pause(unit, deployment.id, outcome.error ?? 'Its authority is lost');
    else if (pauseAfter !== null && deployment.failures_in_row >= pauseAfter)
      await this.pause(unit, deployment.id, `${deployment.failures_in_row} runs in a row failed`);
  }

  async pause(unit: UnitOfWork, id: string, reason: string): Promise<void> {
    await this.deployments.halt(unit, id, 'paused', reason);
    await this.events.publish(unit, automationPaused, { deployment_id: id });
  }

  /** Ends a run that has not begun; one that has is asked to end. */
  async cancel(unit: UnitOfWork, id: string, reason: 'stopped' | 'replaced' = 'stopped'): Promise<void> {
    const run = await this.runs.find(id, unit);
    if (!run || run.state === 'done') return;
    await this.runs.cancel(unit, id);
    if (run.state === 'queued')
      await this.end(unit, id, { status: 'completed', stop_reason: reason, error: null });
  }

  /** As {@link end}, in a transaction of its own. */
  endNow(id: string, outcome: RunOutcome, also?: (unit: UnitOfWork) => Promise<void>): Promise<void> {
    return this.database.transaction(async unit => {
      await this.end(unit, id, outcome);
      await also?.(unit);
    });
  }
}
