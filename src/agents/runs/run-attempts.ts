import { Injectable } from '@nestjs/common';
import type { StepResult } from '#libs/model-client/index.js';
import { Config } from '../../platform/config/index.js';
import type { ToolCallRow } from '../chats/index.js';
import { type ModelStep, ModelSteps } from './model-step.js';
import { RunAttempt } from './run-attempt.js';
import { RunEnds } from './run-ends.js';
import type { RunJournal } from './run-journal.js';
import { LimitReached, type ReachedLimit, RunLimits } from './run-limits.js';
import type { ClaimedRun } from './run-queue.store.js';
import { type PlannedCall, stepFinished, stepRestarted, stepStarted, toolStarted } from './run-state.js';
import { type RunTools, ToolGateway } from './run-tools.js';
import { RunsStore } from './runs.store.js';
import { type Subtasks, TaskRunner } from './subtasks.js';
import { TASK } from './task-starter.js';
import { type OpenCall, RunWaits, type ToolRound, ToolRounds } from './tool-round.js';

/** Executes a task of an attempt until it ends or waits for a person, or `signal` is aborted. */
export type ExecuteTask = (id: string, above: RunAttempt, signal: AbortSignal) => Promise<void>;

/** Makes attempts at runs: opens what they work with, takes their steps, and closes it. */
@Injectable()
export class RunAttempts {
  constructor(
    private readonly models: ModelSteps,
    private readonly gateway: ToolGateway,
    private readonly rounds: ToolRounds,
    private readonly tasks: TaskRunner,
    private readonly ends: RunEnds,
    private readonly runs: RunsStore,
    private readonly config: Config,
  ) {}

  /**
   * Returns when the end of the run is written down; throws what kept it from getting there. `above` are the limits of the run
   * above it, and any of `claims` is aborted when the run is no longer this attempt's.
   */
  async execute(
    run: ClaimedRun,
    journal: RunJournal,
    claims: readonly AbortSignal[],
    above: RunLimits | undefined,
    executeTask: ExecuteTask,
  ): Promise<void> {
    const { steps: maxSteps } = this.config.runLimits;
    const spentOnTasks = run.attempt > 1 ? await this.tasks.spentBefore(run.id) : undefined;
    const limits = new RunLimits({ run, maxSteps, above, spentOnTasks });
    const attempt = new RunAttempt(run, journal, limits, claims);
    try {
      await this.takeSteps(attempt, executeTask);
    } catch (error) {
      // What was streamed is kept; where that cannot be written, the fault below says so.
      await Promise.allSettled([attempt.deltas.settle()]);
      if (error instanceof RunWaits) throw error;
      if (error instanceof LimitReached) return this.ends.endAt(journal, error.limit);
      if (attempt.isOutOfTime) return this.ends.endAt(journal, limits.reachedTime);
      throw attempt.signal.aborted ? attempt.signal.reason : error;
    } finally {
      attempt.close();
    }
  }

  private async takeSteps(attempt: RunAttempt, executeTask: ExecuteTask): Promise<void> {
    const { run } = attempt;
    await this.models.check(run);
    const tools = await this.gateway.open(run);
    try {
      const model = this.models.open(attempt, tools);
      const earlier = run.attempt > 1 ? await this.runs.toolCalls(run.id) : [];
      const repairs = model.check && run.attempt > 1 ? await this.runs.answersRefused(run.id) : 0;
      const subtasks = this.tasks.open(attempt, tools.guide.allowlists, (id, until) =>
        executeTask(id, attempt, until),
      );
      const round = this.rounds.open(attempt, tools, subtasks);
      try {
        await new StepLoop(attempt, model, tools, subtasks, round, this.ends).run(earlier, repairs);
      } finally {
        await subtasks.close();
      }
    } finally {
      await tools.close();
    }
  }
}

/** The steps of an attempt: model call, tools, model call … until the model asks for no more tools. */
class StepLoop {
  private repairs = 0;
  private mayRepeatStep = false;

  constructor(
    private readonly attempt: RunAttempt,
    private readonly model: ModelStep,
    private readonly tools: RunTools,
    private readonly subtasks: Subtasks,
    private readonly round: ToolRound,
    private readonly ends: RunEnds,
  ) {}

  /** `earlier` are the calls of earlier attempts, and `repairs` how many answers those were refused. */
  async run(earlier: readonly ToolCallRow[], repairs: number): Promise<void> {
    const { run, journal, limits } = this.attempt;
    const { maxSteps } = this.tools;
    this.repairs = repairs;
    this.tools.resume(earlier);
    let calls = earlier.filter(({ state }) => state !== 'finished').map(fromRow);
    if (run.attempt > 1) this.subtasks.lookForRequested();
    this.mayRepeatStep = run.attempt > 1 && calls.length === 0;
    for (let step = run.step_count; ; step++) {
      const limit = limits.reached(maxSteps);
      if (limit) return this.giveUp(calls, limit);
      await this.round.run(calls, stepStarted(step + 1));
      // Tasks may have used what was left.
      const late = limits.reached(maxSteps);
      if (late) return this.ends.endAt(journal, late);
      if (journal.steering.isInTheWay) return this.ends.yieldToSteer(journal);
      if (journal.steering.waits) await this.ends.mergeSteers(journal, step + 1);
      const asked = await this.step(step + 1);
      if (asked === 'ended') return;
      calls = asked;
    }
  }

  /** One model call, written down with the calls it asks for; with none, that is the end of the run, unless a message came in meanwhile. */
  private async step(number: number): Promise<PlannedCall[] | 'ended'> {
    const { run, journal, limits, signal, deltas } = this.attempt;
    const startedAt = new Date();
    // An earlier attempt may have shown something of this step.
    if (this.mayRepeatStep && number === run.step_count + 1)
      await journal.append([restartedElsewhere(number), stepStarted(number)]);
    const { result, costUsd, model, context } = await this.model.ask(number);
    const rest = await deltas.handOver();
    await this.tools.gate.refresh();
    const calls = this.round.planned(plannedCalls(number, result));
    const step = { number, result, costUsd, model, calls, startedAt, context };
    if (calls.length > 0) {
      const started = calls.filter(({ startsAtOnce }) => startsAtOnce).map(toolStarted);
      await journal.finishStep(step, [...rest, stepFinished(step), ...started]);
      return calls;
    }
    await this.subtasks.requestedAtRest(journal.steering.signal);
    signal.throwIfAborted();
    const mayGoOn = () => !limits.reached(this.tools.maxSteps);
    const { check } = this.model;
    const outcome = await this.ends.endWith(this.attempt, step, rest, {
      check,
      repairs: this.repairs,
      mayGoOn,
    });
    if (outcome === 'ended') return outcome;
    if (outcome === 'repair') this.repairs += 1;
    return [];
  }

  /** A limit is reached between two steps: the calls that were asked for are not run. */
  private async giveUp(calls: OpenCall[], limit: ReachedLimit): Promise<void> {
    await this.round.refuse(calls, `Not run: the run has reached ${limit.text}`);
    await this.ends.endAt(this.attempt.journal, limit);
  }
}

const restartedElsewhere = (step: number) =>
  stepRestarted(step, { attempt: 1, delay_ms: 0, message: 'The run was taken up again by another worker' });

/** Tasks begin together; of the other calls, the first. */
function plannedCalls(step: number, { tool_calls }: StepResult): PlannedCall[] {
  const first = tool_calls.findIndex(({ tool }) => tool !== TASK);
  return tool_calls.map(({ id, tool, input }, position) => {
    const startsAtOnce = tool === TASK || position === first;
    return { step, position, callId: id, tool, input, startsAtOnce };
  });
}

/** What a task did is known from its run, so it goes on; any other call that had begun may have happened. */
function fromRow({ step, position, call_id, tool, input, state }: ToolCallRow): OpenCall {
  const startsAtOnce = state === 'started';
  const mayHaveHappened = startsAtOnce && tool !== TASK;
  return { step, position, callId: call_id, tool, input, startsAtOnce, mayHaveHappened };
}
