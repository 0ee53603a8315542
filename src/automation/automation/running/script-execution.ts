import { Injectable } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { enterScript } from '../../../identity/billing/index.js';
import { Database } from '../../../platform/database/index.js';
import { InsufficientStorage, problemOf } from '../../../platform/errors/index.js';
import { Log } from '../../../platform/log/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { AuthorityLost } from '../../../workspaces/core/index.js';
import type { ScriptResult } from '../../../workspaces/sandboxes/index.js';
import {
  type AutomationRunRow,
  AutomationRunsStore,
  type RunOutcome,
  type RunTry,
} from '../records/automation-runs.store.js';
import { automationRunTopic } from '../records/automation-states.js';
import { ExpectationValidator } from './expectation-validator.js';
import type { RunContext } from './run-context.js';
import { RunContextReader } from './run-context-reader.js';
import { RunEnds } from './run-ends.js';
import { ScriptLog } from './script-log.js';
import { ScriptOutput } from './script-output.js';
import { ScriptRunner } from './script-runner.js';

const RETRY_MS = 1000;

/** When a process that stops ends the scripts of its runs. */
export interface ScriptSignals {
  /** Aborted when no program may begin any more. */
  readonly closing: AbortSignal;
  /** Aborted when programs that have begun must end. */
  readonly stopping: AbortSignal;
}

/** The program of a run has not begun, so the run can be taken again. */
export class NotBegun extends Error {}

/** Somebody cancelled the run before its program began. */
class Cancelled extends Error {}

/**
 * Runs scripts of automations, each as one command in the sandbox of its workspace. A run is `starting` until its program
 * begins, and `running` before the program's first instruction: what had not begun is repeated, what had is not.
 */
@Injectable()
export class ScriptExecution {
  constructor(
    private readonly database: Database,
    private readonly runs: AutomationRunsStore,
    private readonly contexts: RunContextReader,
    private readonly runner: ScriptRunner,
    private readonly expectations: ExpectationValidator,
    private readonly ends: RunEnds,
    private readonly topics: Topics,
    private readonly log: Log,
  ) {}

  /** Runs one that this process has taken, to its end. Throws NotBegun where it is to wait again. */
  async run(run: AutomationRunRow, { closing, stopping }: ScriptSignals): Promise<void> {
    const cancelled = this.watch(run.id);
    const program = new ProgramState(
      closing,
      AbortSignal.any([stopping, cancelled.signal, this.runs.signal]),
    );
    try {
      const outcome = await this.outcomeOf(run, program, cancelled.signal);
      const { organization_id: organizationId, workspace_id: workspaceId, deployment_id: deploymentId } = run;
      const used = { organizationId, workspaceId, deploymentId, actorId: run.actor.id };
      await this.end(run, outcome, { ...used, seconds: program.seconds }, stopping);
    } finally {
      program.close();
      cancelled.close();
    }
  }

  /** However long the database is away: nobody else knows how it ended. */
  private async end(
    run: RunTry,
    outcome: RunOutcome,
    used: Parameters<typeof enterScript>[1],
    stopping: AbortSignal,
  ): Promise<void> {
    for (;;)
      try {
        return await this.ends.endNow(run, outcome, unit => enterScript(unit, used));
      } catch (error) {
        if (stopping.aborted) throw error;
        this.log.warn(
          { err: error, automation_run_id: run.id },
          'the end of a script cannot be written down; trying again',
        );
        await new Promise(resolve => setTimeout(resolve, RETRY_MS));
      }
  }

  private async outcomeOf(
    run: AutomationRunRow,
    program: ProgramState,
    cancelled: AbortSignal,
  ): Promise<RunOutcome> {
    const output = new ScriptOutput(await this.logOf(run));
    const failed = (stop_reason: string, error: string): RunOutcome => ({
      status: 'error',
      stop_reason,
      error,
      log: output.tail,
    });
    try {
      const context = await this.contexts.find(run);
      if (!context) return failed('script_failed', 'Its version is not kept any more');
      const secrets = await this.contexts.readSecrets(run, context);
      const missing = (context.pinned.definition.secrets ?? []).filter(name => !secrets.has(name));
      if (missing.length > 0) return failed('secret_missing', missingSecrets(missing));
      const { result, paths, refusal } = await this.runner.run(run, context, {
        secrets,
        output,
        signal: program.signal,
        onReady: () => this.begin(run.id, program),
      });
      if (cancelled.aborted) return { ...STOPPED, log: output.tail };
      if (program.signal.aborted) return failed('worker_lost', 'The process that ran it was stopped');
      const end = { log: output.tail, exit_code: result.exit_code, output: output.result };
      const fault = refusal ?? faultOf(result, context);
      if (fault) return { ...end, status: 'error', stop_reason: reasonOf(result), error: fault };
      const unmet = this.expectations.unmet(context.pinned.definition.expect.files, paths);
      if (unmet !== null) return { ...end, status: 'error', stop_reason: 'expectation_failed', error: unmet };
      if (output.fault) return { ...end, status: 'error', stop_reason: 'script_failed', error: output.fault };
      return { ...end, status: 'completed', stop_reason: null, error: null };
    } catch (error) {
      if (cancelled.aborted || error instanceof Cancelled) return { ...STOPPED, log: output.tail };
      if (!program.hasBegun && (program.signal.aborted || isPassing(error)))
        throw new NotBegun((error as Error).message, { cause: error });
      if (error instanceof AuthorityLost) return failed('authority_lost', error.message);
      const problem = problemOf(error);
      if (problem && problem.status < 500) return failed('script_failed', problem.detail);
      this.log.error(
        { err: error, automation_run_id: run.id },
        'the script of an automation could not be run',
      );
      return failed('worker_lost', problem?.detail ?? 'It could not be run because of a fault on our side');
    } finally {
      await output.settle();
    }
  }

  private async logOf(run: AutomationRunRow): Promise<ScriptLog> {
    try {
      const pieces = run.tries.length > 0 ? await this.runs.newestPrinted(run.id) : 0;
      return new ScriptLog(this.runs, run.id, { pieces, kept: run.output_bytes }, error =>
        this.log.warn({ err: error, automation_run_id: run.id }, 'what a script prints is not written down'),
      );
    } catch (error) {
      throw new NotBegun((error as Error).message, { cause: error });
    }
  }

  private async begin(id: string, program: ProgramState): Promise<void> {
    program.signal.throwIfAborted();
    const begun = await this.database.transaction(unit => this.runs.begin(unit, id, 'script'));
    if (!begun) throw new Cancelled();
    program.begin();
  }

  private watch(id: string): { signal: AbortSignal; close: () => void } {
    const cancelled = new AbortController();
    const look = async () => {
      try {
        if (await this.runs.isCancelled(id)) cancelled.abort();
      } catch (error) {
        this.log.warn({ err: error, automation_run_id: id }, 'whether a script goes on is not known');
      }
    };
    const close = this.topics.subscribe(automationRunTopic(id), () => void look());
    void look();
    return { signal: cancelled.signal, close };
  }
}

const STOPPED: RunOutcome = { status: 'completed', stop_reason: 'stopped', error: null };

/** Whether the program of a run has begun, and what ends the run. */
class ProgramState {
  private readonly given = new AbortController();
  private begunAt: number | undefined;
  readonly signal: AbortSignal;

  constructor(
    private readonly closing: AbortSignal,
    ends: AbortSignal,
  ) {
    this.signal = AbortSignal.any([ends, this.given.signal]);
    if (closing.aborted) this.giveUp();
    closing.addEventListener('abort', this.giveUp);
  }

  get hasBegun(): boolean {
    return this.begunAt !== undefined;
  }

  /** Since the program began. */
  get seconds(): number {
    return this.begunAt === undefined ? 0 : (performance.now() - this.begunAt) / 1000;
  }

  begin(): void {
    this.begunAt = performance.now();
    this.close();
  }

  close(): void {
    this.closing.removeEventListener('abort', this.giveUp);
  }

  private readonly giveUp = (): void => this.given.abort(this.closing.reason);
}

/** Whether another attempt may succeed: the database is away, or a disk is full. */
const isPassing = (error: unknown): boolean =>
  isOutage(error) || problemOf(error) instanceof InsufficientStorage;

const missingSecrets = (names: readonly string[]): string =>
  `The workspace has no secret ${names.join(', ')}; set it with PUT /api/workspaces/{workspaceId}/secrets/{name}, and replay the run`;

function faultOf({ ended_by, exit_code }: ScriptResult, { pinned }: RunContext): string | null {
  const { maxSeconds } = pinned.definition.limits;
  if (ended_by === 'timeout') return `It took longer than ${maxSeconds} seconds; raise limits.max_seconds`;
  if (ended_by === 'memory') return 'It needed more memory than a sandbox has';
  if (ended_by === 'output') return 'It printed more than may be printed';
  return exit_code === 0 ? null : `It ended with exit code ${exit_code}`;
}

const reasonOf = ({ ended_by }: ScriptResult): string =>
  ended_by === 'timeout' ? 'max_seconds' : 'script_failed';
