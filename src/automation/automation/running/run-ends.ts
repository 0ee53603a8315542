import { Injectable } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { AUTOMATION_LIMITS } from '../file/automation-definition.js';
import { AutomationRunsStore, type RunOutcome, type RunTry } from '../records/automation-runs.store.js';
import { automationCompleted, automationFailed, automationPaused } from '../records/automation-states.js';
import { DeploymentsStore } from '../records/deployments.store.js';
import { DayLimits } from './day-limits.js';

/** Ends that say nothing of the automation itself. */
const NEUTRAL = ['stopped', 'replaced', 'budget_stopped'];

/** Ends for which a run is tried again: another try may succeed, and nobody wanted this one to end. */
const RETRIED = new Set([
  'script_failed',
  'expectation_failed',
  'worker_lost',
  'internal',
  'model_rate_limited',
  'model_overloaded',
  'model_timeout',
  'model_network',
  'model_unknown',
]);

/** Writes the ends of runs, and what follows from them for their deployment. */
@Injectable()
export class RunEnds {
  constructor(
    private readonly database: Database,
    private readonly runs: AutomationRunsStore,
    private readonly deployments: DeploymentsStore,
    private readonly dayLimits: DayLimits,
    private readonly events: Events,
  ) {}

  /** Ends a run, once, or lets it wait for its next try where its file says so. */
  async end(unit: UnitOfWork, ended: RunTry, outcome: RunOutcome): Promise<void> {
    if (await this.retry(unit, ended, outcome)) return;
    const run = await this.runs.finish(unit, ended, outcome);
    if (!run?.deployment_id) return;
    const { status, stop_reason } = outcome;
    if (stop_reason !== null && NEUTRAL.includes(stop_reason)) return;
    const isSuccess = status === 'completed';
    const deployment = await this.deployments.count(unit, run.deployment_id, isSuccess);
    await this.events.publish(unit, isSuccess ? automationCompleted : automationFailed, { run_id: run.id });
    if (isSuccess || deployment?.state !== 'live') return;
    const version = await this.deployments.version(deployment.id, deployment.version, unit);
    const { pauseAfter = null } = version?.definition ?? {};
    if (stop_reason === 'authority_lost')
      await this.pause(unit, deployment.id, outcome.error ?? 'Its authority is lost');
    else if (pauseAfter !== null && deployment.failures_in_row >= pauseAfter)
      await this.pause(unit, deployment.id, `${deployment.failures_in_row} runs in a row failed`);
  }

  private async retry(unit: UnitOfWork, failed: RunTry, outcome: RunOutcome): Promise<boolean> {
    if (!RETRIED.has(outcome.stop_reason ?? '')) return false;
    const run = await this.runs.find(failed.id, unit);
    if (!run) return false;
    const { deployment_id, version, draft, tries } = run;
    const deployment = deployment_id === null ? undefined : await this.deployments.find(deployment_id, unit);
    if (!draft && (!deployment || deployment.state === 'stopped')) return false;
    const pinned =
      draft ??
      (version === null || !deployment
        ? undefined
        : await this.deployments.version(deployment.id, version, unit));
    const { max = 0, backoffSeconds = 0 } = pinned?.definition.retries ?? {};
    if (tries.length >= max) return false;
    const delay = Math.min(backoffSeconds * 2 ** tries.length, AUTOMATION_LIMITS.backoffSeconds);
    const limit =
      deployment && pinned && !run.is_asked
        ? await this.dayLimits.reached(unit, deployment.id, pinned.definition)
        : undefined;
    // How many runs there may be is no matter of tries: they are one run.
    const heldSeconds = limit?.reason === 'daily_usd' ? (limit.until.getTime() - Date.now()) / 1000 : 0;
    return this.runs.retry(unit, failed, outcome, Math.max(delay, heldSeconds));
  }

  async pause(unit: UnitOfWork, id: string, reason: string): Promise<void> {
    await this.deployments.halt(unit, id, 'paused', reason);
    await this.events.publish(unit, automationPaused, { deployment_id: id });
  }

  /** Ends a run that has not begun; one that has is asked to end. */
  async cancel(unit: UnitOfWork, id: string, reason: 'stopped' | 'replaced' = 'stopped'): Promise<void> {
    // The row is locked from here on, so that no try begins or ends meanwhile.
    await this.runs.cancel(unit, id);
    const run = await this.runs.find(id, unit);
    if (run?.state === 'queued')
      await this.end(unit, run, { status: 'completed', stop_reason: reason, error: null });
  }

  /**
   * Ends the scripts of dead processes, and puts back what had not begun; `known` run in this process. A script whose program
   * had begun may have done anything by then: it is run again only where its file has `retries`.
   */
  endLost(known: readonly string[]): Promise<void> {
    return this.database.transaction(async unit => {
      for (const run of await this.runs.recover(unit, known))
        await this.end(unit, run, {
          status: 'error',
          stop_reason: 'worker_lost',
          error: 'The process that ran it was lost; what it had done by then is done',
        });
    });
  }

  /** As {@link end}, in a transaction of its own. */
  endNow(ended: RunTry, outcome: RunOutcome, also?: (unit: UnitOfWork) => Promise<void>): Promise<void> {
    return this.database.transaction(async unit => {
      await this.end(unit, ended, outcome);
      await also?.(unit);
    });
  }
}
