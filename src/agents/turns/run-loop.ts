import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ModelError } from '#libs/model-client/index.js';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { BudgetReached } from '../../identity/billing/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Log, withLogContext } from '../../platform/log/index.js';
import { AuthorityLost } from '../../workspaces/core/index.js';
import { ModelUnusable } from '../models/index.js';
import {
  type ClaimedRun,
  RunAuthority,
  RunExecutor,
  type RunFault,
  type RunJournal,
  RunJournals,
  RunLost,
  RunQueue,
  RunStopper,
} from '../runs/index.js';
import { type Above, RunAttempts } from './run-attempt.js';
import { ApprovalRequired, RunWaits } from './tool-round.js';

/** A run over which this many workers were lost is not given a further one. */
const MAX_LOST = 5;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

/** Under what a run is executed. */
interface Circumstances {
  /** Aborted when the process shuts down. */
  readonly stopping: AbortSignal;
  /** Of a task. */
  readonly above?: Above;
}

/** Executes runs to their end, from wherever an earlier worker left them. */
@Injectable()
export class RunLoop {
  constructor(
    private readonly attempts: RunAttempts,
    private readonly journals: RunJournals,
    private readonly queue: RunQueue,
    private readonly authority: RunAuthority,
    private readonly stopper: RunStopper,
    private readonly log: Log,
    executor: RunExecutor,
  ) {
    executor.register((run, stopping) => this.execute(run.id, { stopping }, run));
  }

  /**
   * Works until the run has ended, or until `stopping` is aborted: then the run is released as it is. Where the database is
   * lost on the way it begins a new attempt when the database is back.
   */
  private async execute(runId: string, circumstances: Circumstances, claimed?: ClaimedRun): Promise<void> {
    const { above, stopping } = circumstances;
    const over = above?.signal ?? stopping;
    let run = claimed;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      try {
        run ??= above ? await this.queue.claimTask(runId) : await this.queue.reclaim(runId);
        if (run) await this.attempt(run, circumstances);
        return;
      } catch (error) {
        if (over.aborted) throw error;
        this.log.warn({ err: error, pause_ms: pause }, 'run: cannot be written down; trying again');
      }
      run = undefined;
      await sleep(pause, undefined, { signal: over });
    }
  }

  private attempt(run: ClaimedRun, circumstances: Circumstances): Promise<void> {
    const context = { run_id: run.id, workspace_id: run.workspace_id ?? undefined };
    return withLogContext(context, () => this.attemptNow(run, circumstances));
  }

  private async attemptNow(run: ClaimedRun, circumstances: Circumstances): Promise<void> {
    const { stopping, above } = circumstances;
    const journal = this.journals.open(run, above?.steering);
    const watch = this.authority.watch(run, journal.steering);
    try {
      if (run.lost >= MAX_LOST) throw new TooManyLost(run.lost);
      await this.authority.require(run);
      await this.attempts.execute({
        run,
        journal,
        claims: [above?.signal ?? stopping, watch.signal, this.queue.signal],
        above: above?.limits,
        executeTask: (task, under) => this.execute(task, { stopping, above: under }),
      });
    } catch (error) {
      await this.afterFault(run, journal, error, circumstances);
    } finally {
      watch.close();
    }
  }

  /** Throws where the run can be neither ended nor released now. */
  private async afterFault(
    run: ClaimedRun,
    journal: RunJournal,
    error: unknown,
    { stopping, above }: Circumstances,
  ): Promise<void> {
    if (error instanceof RunLost) return this.log.info({}, 'run: gone, or claimed by another worker');
    if (error instanceof RunWaits) return this.log.info({}, 'run: waits for people');
    if (stopping.aborted) {
      await this.queue.release(run);
      return this.log.info({}, 'run: released to the queue');
    }
    // The end of the run above, or its next attempt, decides what becomes of a task.
    if (above?.signal.aborted) return;
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
