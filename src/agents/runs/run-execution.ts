import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ModelError } from '#libs/model-client/index.js';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { BudgetReached } from '../../identity/billing/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Log, withLogContext } from '../../platform/log/index.js';
import { AuthorityLost } from '../../workspaces/core/index.js';
import { ModelUnusable } from '../models/index.js';
import type { RunAttempt } from './run-attempt.js';
import { RunAttempts } from './run-attempts.js';
import { RunAuthority } from './run-authority.js';
import { RunStopper } from './run-control.js';
import { type RunJournal, RunJournals } from './run-journal.js';
import { type ClaimedRun, RunQueue } from './run-queue.store.js';
import { type RunFault, RunLost } from './run-state.js';
import { ApprovalRequired, RunWaits } from './tool-round.js';

/** A run over which this many workers were lost is not given a further one. */
const MAX_LOST = 5;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

/** Where a task is executed: within an attempt at the run above it, in whose worker slot, and until `signal` is aborted. */
interface Above {
  readonly attempt: RunAttempt;
  readonly signal: AbortSignal;
}

/** Executes runs to their end, from wherever an earlier worker left them. */
@Injectable()
export class RunExecution {
  constructor(
    private readonly attempts: RunAttempts,
    private readonly journals: RunJournals,
    private readonly queue: RunQueue,
    private readonly authority: RunAuthority,
    private readonly stopper: RunStopper,
    private readonly log: Log,
  ) {}

  /** Works on a claimed run until it has ended, waits, or `stopping` is aborted, as it is when the process shuts down. */
  execute(run: ClaimedRun, stopping: AbortSignal): Promise<void> {
    return this.toItsEnd(run.id, stopping, undefined, run);
  }

  /**
   * Works until the run has ended, or until `stopping` is aborted: then the run is released as it is. Where the database is
   * lost on the way it begins a new attempt when the database is back.
   */
  private async toItsEnd(
    runId: string,
    stopping: AbortSignal,
    above?: Above,
    claimed?: ClaimedRun,
  ): Promise<void> {
    const over = above?.signal ?? stopping;
    let run = claimed;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      try {
        run ??= above ? await this.queue.claimTask(runId) : await this.queue.reclaim(runId);
        if (run) await this.attempt(run, stopping, above);
        return;
      } catch (error) {
        if (over.aborted) throw error;
        this.log.warn({ err: error, pause_ms: pause }, 'run: cannot be written down; trying again');
      }
      run = undefined;
      await sleep(pause, undefined, { signal: over });
    }
  }

  private attempt(run: ClaimedRun, stopping: AbortSignal, above: Above | undefined): Promise<void> {
    const context = { run_id: run.id, workspace_id: run.workspace_id ?? undefined };
    return withLogContext(context, () => this.attemptNow(run, stopping, above));
  }

  private async attemptNow(run: ClaimedRun, stopping: AbortSignal, above: Above | undefined): Promise<void> {
    const journal = this.journals.open(run, above?.attempt.journal.steering);
    const watch = this.authority.watch(run, journal.steering);
    try {
      if (run.lost >= MAX_LOST) throw new TooManyLost(run.lost);
      await this.authority.require(run);
      const claims = [above?.signal ?? stopping, watch.signal, this.queue.signal];
      await this.attempts.execute(run, journal, claims, above?.attempt.limits, (id, attempt, signal) =>
        this.toItsEnd(id, stopping, { attempt, signal }),
      );
    } catch (error) {
      await this.afterFault(run, journal, error, stopping, above?.signal);
    } finally {
      watch.close();
    }
  }

  /** Throws where the run can be neither ended nor released now. */
  private async afterFault(
    run: ClaimedRun,
    journal: RunJournal,
    error: unknown,
    stopping: AbortSignal,
    above: AbortSignal | undefined,
  ): Promise<void> {
    if (error instanceof RunLost) return this.log.info({}, 'run: gone, or claimed by another worker');
    if (error instanceof RunWaits) return this.log.info({}, 'run: waits for people');
    if (stopping.aborted) {
      await this.queue.release(run);
      return this.log.info({}, 'run: released to the queue');
    }
    // The end of the run above, or its next attempt, decides what becomes of a task.
    if (above?.aborted) return;
    const fault = faultOf(error);
    if (fault.type === 'internal' && isOutage(error)) throw error;
    if (fault.type === 'internal') this.log.error({ err: error }, 'run: failed by an internal fault');
    try {
      const end = { status: 'error', fault, response: null } as const;
      await this.stopper.completeNow(journal, end, { keepsCutOff: true });
    } catch (failure) {
      if (!(failure instanceof RunLost)) throw failure;
    }
  }
}

/** The run took too many workers with it, or happened to be there each time. */
class TooManyLost extends Error {
  constructor(lost: number) {
    super(`The service was lost ${lost} times while it worked on this run, so it was given up`);
  }
}

/** The public fault of an error that ends a run; `internal` hides its cause. */
function faultOf(error: unknown): RunFault {
  if (error instanceof ModelError) return { message: error.message, type: `model_${error.kind}` };
  if (error instanceof TooManyLost) return { message: error.message, type: 'worker_lost' };
  if (error instanceof BudgetReached) return { message: error.detail, type: 'budget_reached' };
  if (error instanceof ModelUnusable) return { message: error.detail, type: 'model_unusable' };
  if (error instanceof ApprovalRequired) return { message: error.message, type: 'approval_required' };
  if (error instanceof AuthorityLost) return { message: error.message, type: 'authority_lost' };
  const problem = problemOf(error);
  if (problem) return { message: problem.detail, type: 'refused' };
  return {
    message: 'The run failed by a fault of the service; its operator finds more in the log',
    type: 'internal',
  };
}
