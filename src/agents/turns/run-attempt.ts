import type { StepResult } from '#libs/model-client/index.js';
import type { Database, UnitOfWork } from '../../platform/database/index.js';
import type { Log } from '../../platform/log/index.js';
import type { Topics } from '../../platform/topics/index.js';
import type { AttachmentsStore } from '../attachments/index.js';
import type { MessagesStore, ToolCallRow } from '../chats/index.js';
import type { Compactor, Conversation } from '../context/index.js';
import { MOST_REPAIRS, type ResponseCheck, type ResponseSchemas, schemaFailed } from '../models/index.js';
import {
  type FinishedStep,
  LimitReached,
  type NewEvent,
  type PlannedCall,
  type ReachedLimit,
  type RunEnd,
  type RunJournal,
  RunLimits,
  type RunStopper,
  type RunsStore,
  responseInvalid,
  type Spent,
  type Steering,
  type SteersStore,
  stepFinished,
  stepRestarted,
  stepStarted,
  type TakenRun,
  type TasksStore,
  toolStarted,
} from '../runs/index.js';
import {
  type CarryTask,
  Places,
  RequestedTasks,
  RunTasks,
  TASK,
  type TaskPause,
  type TaskStarter,
} from '../tasks/index.js';
import { DeltaWriter } from './delta-writer.js';
import type { StepCaller } from './model-calls.js';
import { ModelTurns } from './model-turns.js';
import { RunWaits } from './run-fault.js';
import type { RunTools, ToolGateway } from './tool-gateway.js';
import { type OpenCall, ToolRound } from './tool-round.js';

/** What an attempt works with. */
export interface RunParts {
  readonly database: Database;
  readonly runs: RunsStore;
  readonly steers: SteersStore;
  readonly messages: MessagesStore;
  readonly steps: StepCaller;
  readonly compactor: Compactor;
  readonly attachments: AttachmentsStore;
  readonly tools: ToolGateway;
  readonly taskStarter: TaskStarter;
  readonly stopper: RunStopper;
  readonly schemas: ResponseSchemas;
  readonly mostSteps: number;
  readonly tasksAtOnce: number;
  readonly tasks: TasksStore;
  readonly topics: Topics;
  readonly log: Log;
}

/** What a task has of the attempt of the run above it, in whose place on the queue it is carried. */
export interface Above {
  readonly limits: RunLimits;
  readonly signal: AbortSignal;
  readonly steering: Steering;
}

/** How an attempt stands to others. */
export interface Surroundings {
  /** What was said so far. */
  readonly conversation: Conversation;
  /** Aborted when the run is no longer this attempt's. */
  readonly hold: AbortSignal;
  /** The limits of the run above, of which this one is a task. */
  readonly above: RunLimits | undefined;
  /** What its own tasks had used before. */
  readonly spentOnTasks: ReadonlyMap<string, Spent> | undefined;
  /** Carries a task of this run. */
  readonly carryTask: (taskId: string, above: Above, pause: TaskPause) => ReturnType<CarryTask>;
}

/** Whoever waits so long for a run may have gone away. */
const LONG_MS = 5 * 60_000;

/** One worker's attempt at a run: model call, tools, model call … until the model asks for no more tools. */
export class RunAttempt {
  private readonly fault = new AbortController();
  private readonly signal: AbortSignal;
  private readonly deltas: DeltaWriter;
  private readonly round: ToolRound;
  private readonly limits: RunLimits;
  private readonly check: ResponseCheck | null;
  private readonly takenAt = Date.now();
  private mayRepeatStep = false;
  /** How often the model was told that its answer is not what was asked for. */
  private repairs = 0;

  constructor(
    private readonly parts: RunParts,
    private readonly run: TakenRun,
    private readonly journal: RunJournal,
    private readonly surroundings: Surroundings,
  ) {
    const { mostSteps } = parts;
    const { hold, above, spentOnTasks } = surroundings;
    this.limits = new RunLimits({ run, mostSteps, above, spentOnTasks });
    this.signal = AbortSignal.any([hold, this.fault.signal, this.limits.expired]);
    this.deltas = new DeltaWriter(
      events => journal.tell(events),
      error => this.fault.abort(error),
      () => journal.isWatched(),
    );
    this.round = new ToolRound(
      journal,
      this.deltas,
      this.signal,
      reason => this.fault.abort(reason),
      parts.runs,
    );
    this.check = parts.schemas.checkOf(run.response_schema);
  }

  /** Returns when the end of the run is written down; throws what kept it from getting there. */
  async toTheEnd(): Promise<void> {
    try {
      const { steps, tools } = this.parts;
      const [, opened] = await Promise.all([steps.check(this.run), tools.open(this.run)]);
      await this.work(opened).finally(() => opened.close());
    } catch (error) {
      // What was streamed is kept; that it cannot be written is told by the fault below.
      await Promise.allSettled([this.deltas.settle()]);
      if (error instanceof RunWaits) throw error;
      if (error instanceof LimitReached) return this.endAt(error.limit);
      if (this.isOutOfTime()) return this.endAt(this.limits.reachedTime);
      throw this.signal.aborted ? this.signal.reason : error;
    }
  }

  private async work(tools: RunTools): Promise<void> {
    const { parts, run, journal, deltas, limits, check, signal } = this;
    const { conversation } = this.surroundings;
    const turns = new ModelTurns({ ...parts, conversation, journal, deltas, limits }, run, check, signal);
    const tasks = this.tasksWith(tools);
    try {
      await this.takeSteps(turns, tools, tasks);
    } finally {
      await tasks.close();
    }
  }

  private async takeSteps(turns: ModelTurns, tools: RunTools, tasks: RunTasks): Promise<void> {
    const { journal, limits } = this;
    if (this.run.attempt > 1) tasks.lookForRequested();
    let calls = await this.openCalls(tools);
    this.mayRepeatStep = this.run.attempt > 1 && calls.length === 0;
    for (let step = this.run.step_count; ; step++) {
      const limit = limits.reached(tools.mostSteps);
      if (limit) return this.giveUp(calls, limit);
      await this.round.run(calls, tools, tasks, stepStarted(step + 1));
      // Tasks may have used what was left.
      const late = limits.reached(tools.mostSteps);
      if (late) return this.endAt(late);
      if (journal.steering.isInTheWay) return this.makeWay();
      if (journal.steering.waits) await this.takeIn(step + 1);
      const asked = await this.step(step + 1, turns, tools, tasks);
      if (asked === 'ended') return;
      calls = asked;
    }
  }

  private tasksWith(tools: RunTools): RunTasks {
    const { runs, taskStarter: starter, tasksAtOnce, tasks, topics, log } = this.parts;
    const { run, journal, limits } = this;
    const { allowlists } = tools.guide;
    const carryUntil =
      (signal: AbortSignal): CarryTask =>
      (id, pause) =>
        this.surroundings.carryTask(id, { limits, signal, steering: journal.steering }, pause);
    const places = new Places(tasksAtOnce);
    const requested = new RequestedTasks(run.id, {
      tasks,
      topics,
      log,
      places,
      carry: over => carryUntil(AbortSignal.any([this.signal, over])),
    });
    const parts = { starter, runs, carry: carryUntil(this.signal), places, requested };
    return new RunTasks(parts, { run, journal, limits, allowlists });
  }

  /** Messages that came in since the last step go into the conversation before this one. */
  private async takeIn(step: number): Promise<void> {
    const { database, runs, steers } = this.parts;
    await database.transaction(async unit => {
      await runs.lockChat(unit, this.run.chat_id);
      await steers.takeIn(unit, this.journal, step);
    });
  }

  /** Calls of the last step that an earlier attempt left without a result. */
  private async openCalls(tools: RunTools): Promise<OpenCall[]> {
    if (this.run.attempt === 1) return [];
    if (this.check) this.repairs = await this.parts.runs.answersRefused(this.run.id);
    const calls = await this.parts.runs.toolCalls(this.run.id);
    tools.takeUp(calls);
    return calls.filter(({ state }) => state !== 'finished').map(fromRow);
  }

  /** One model call, written down with the calls it asks for; with none, that is the end of the run, unless a message came in meanwhile. */
  private async step(
    number: number,
    turns: ModelTurns,
    tools: RunTools,
    tasks: RunTasks,
  ): Promise<PlannedCall[] | 'ended'> {
    const startedAt = new Date();
    if (this.isRepeated(number)) await this.journal.tell([takenUp(number), stepStarted(number)]);
    const { result, costUsd, model } = await turns.take(number, tools);
    const rest = await this.deltas.handOver();
    await tools.heedPolicy();
    const calls = this.round.planned(plannedCalls(number, result), tools);
    const step = { number, result, costUsd, model, calls, startedAt };
    if (calls.length === 0) {
      await tasks.requestedAtRest(this.journal.steering.signal);
      this.signal.throwIfAborted();
      return this.endWith(step, rest, tools);
    }
    const started = calls.filter(({ startsAtOnce }) => startsAtOnce).map(toolStarted);
    await this.journal.finishStep(step, [...rest, stepFinished(step), ...started]);
    return calls;
  }

  /** Whether an earlier attempt may have shown something of this step. */
  private isRepeated(step: number): boolean {
    return this.mayRepeatStep && step === this.run.step_count + 1;
  }

  /**
   * The last step and the end of the run in one transaction, which also lets the chat's next run go. Where a message waits
   * to enter the run, and it may have another step, it goes on with that instead; and where the answer is not what was
   * asked for, the model is told so and answers again.
   */
  private async endWith(
    step: FinishedStep,
    rest: NewEvent[],
    tools: RunTools,
  ): Promise<'ended' | PlannedCall[]> {
    const { text: response, finish_reason } = step.result;
    const stopReason = STOP_REASONS[finish_reason] ?? 'end_turn';
    const { json, faults } = (await this.check?.read(response)) ?? {};
    const isRefused = finish_reason === 'content-filter';
    const { database, runs, steers, stopper } = this.parts;
    const { journal, limits } = this;
    const end: RunEnd = faults
      ? { status: 'error', fault: schemaFailed(faults), response }
      : { status: 'completed', stopReason, response, json };
    const events = [...rest, stepFinished(step)];
    const isLong = this.run.ran_ms + Date.now() - this.takenAt > LONG_MS && !journal.isWatched();
    const isAlone = !faults && !journal.steering.waits && !isLong;
    if (isAlone && (await journal.finishAlone(step, events, end))) return 'ended';
    return database.transaction(async unit => {
      await runs.lockChat(unit, this.run.chat_id);
      if (!faults && (await journal.finish(unit, step, events, end))) {
        if (isLong) await runs.publishFinished(unit, this.run.id);
        return 'ended';
      }
      await journal.finishStep(step, events, unit);
      const mayGoOn = journal.steering.waits && !limits.reached(tools.mostSteps);
      if (mayGoOn && (await steers.takeIn(unit, journal, step.number + 1)) > 0) {
        await journal.tell([stepStarted(step.number + 1)], unit);
        return [];
      }
      if (faults && this.repairs < MOST_REPAIRS && !isRefused) {
        this.repairs += 1;
        await journal.tell([responseInvalid(step.number, faults), stepStarted(step.number + 1)], unit);
        return [];
      }
      await runs.endIn(unit, journal, end);
      if (isLong && !faults) await runs.publishFinished(unit, this.run.id);
      await stopper.stopTasks(unit, this.run.id);
      return 'ended';
    });
  }

  /** A limit is reached between two steps: the calls that were asked for are not run. */
  private async giveUp(calls: OpenCall[], limit: ReachedLimit): Promise<void> {
    await this.round.refuse(calls, `Not run: the run has reached ${limit.text}`);
    await this.endAt(limit);
  }

  private endAt({ stopReason, text }: ReachedLimit): Promise<void> {
    return this.stopAt(stopReason, `Stopped: the run has reached ${text}.`);
  }

  /** A message waits to enter a run above, which goes on with it when this one has ended. */
  private async makeWay(): Promise<void> {
    await this.stopAt('yielded', await this.parts.runs.lastSaid(this.run.id));
  }

  private async stopAt(stopReason: string, response: string): Promise<void> {
    const end: RunEnd = { status: 'completed', stopReason, response };
    const { runs, stopper } = this.parts;
    const stopTasks = (unit: UnitOfWork) => stopper.stopTasks(unit, this.run.id);
    await runs.end(this.run.chat_id, this.journal, end, stopTasks);
  }

  /** Whether it was the run's own time limit, and nothing before it, that ended the work. */
  private isOutOfTime(): boolean {
    const { expired } = this.limits;
    return expired.aborted && this.signal.reason === expired.reason;
  }
}

const takenUp = (step: number) =>
  stepRestarted(step, { attempt: 1, delay_ms: 0, message: 'The run was taken up again by another worker' });

const STOP_REASONS: Record<string, string> = {
  length: 'length',
  'content-filter': 'refusal',
  error: 'model_error',
};

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
