import { Injectable } from '@nestjs/common';
import type { ResponseCheck } from '#libs/bounded-schema/index.js';
import { DeltaWriter } from '#libs/delta-writer/index.js';
import type { StepResult } from '#libs/model-client/index.js';
import { Config } from '../../platform/config/index.js';
import type { ToolCallRow } from '../chats/index.js';
import { ResponseSchemas } from '../models/index.js';
import {
  type ClaimedRun,
  LimitReached,
  type PlannedCall,
  type ReachedLimit,
  type RunEventType,
  type RunJournal,
  RunLimits,
  RunsStore,
  type Steering,
  stepFinished,
  stepRestarted,
  stepStarted,
  tasksTopic,
  toolStarted,
} from '../runs/index.js';
import { type RunTasks, TASK, TaskRunner } from '../tasks/index.js';
import { AttemptEnds } from './attempt-ends.js';
import { AttemptSignal } from './attempt-signal.js';
import { StepCaller } from './model-calls.js';
import { ModelTurns, type RunTurns } from './model-turns.js';
import { type RunTools, ToolGateway } from './tool-gateway.js';
import { type OpenCall, RunWaits, ToolRound } from './tool-round.js';

/** What a task has of the attempt of the run above it, in whose worker slot it is executed. */
export interface Above {
  readonly limits: RunLimits;
  readonly signal: AbortSignal;
  readonly steering: Steering;
}

/** Who waits so long for a run may have gone away. */
const LONG_MS = 5 * 60_000;

/** How an attempt stands to others. */
interface Surroundings {
  readonly run: ClaimedRun;
  readonly journal: RunJournal;
  /** Any is aborted when the run is no longer this attempt's. */
  readonly claims: readonly AbortSignal[];
  /** The limits of the run above, of which this one is a task. */
  readonly above: RunLimits | undefined;
  /** Executes a task of this run. */
  readonly executeTask: (taskId: string, above: Above) => Promise<void>;
}

/** Makes attempts at runs: opens what they work with, and closes it. */
@Injectable()
export class RunAttempts {
  constructor(
    private readonly steps: StepCaller,
    private readonly turns: ModelTurns,
    private readonly gateway: ToolGateway,
    private readonly tasks: TaskRunner,
    private readonly ends: AttemptEnds,
    private readonly schemas: ResponseSchemas,
    private readonly runs: RunsStore,
    private readonly config: Config,
  ) {}

  /** Returns when the end of the run is written down; throws what kept it from getting there. */
  async execute({ run, journal, claims, above, executeTask }: Surroundings): Promise<void> {
    const { steps: maxSteps } = this.config.runLimits;
    const claimedAt = Date.now();
    const spentOnTasks = run.attempt > 1 ? await this.tasks.spentBefore(run.id) : undefined;
    const limits = new RunLimits({ run, maxSteps, above, spentOnTasks });
    const ending = new AttemptSignal([...claims, limits.expired]);
    const { signal } = ending;
    const abort = (error: unknown) => ending.abort(error);
    const deltas = new DeltaWriter<RunEventType>(
      events => journal.append(events),
      abort,
      () => journal.isWatched(),
    );
    const check = run.response_schema && this.schemas.checkOf(run.response_schema);
    try {
      const [, tools] = await Promise.all([this.steps.check(run), this.gateway.open(run)]);
      try {
        const turns = this.turns.open({ run, journal, deltas, limits, check, signal, claimedAt, tools });
        const giver = { run, journal, limits, allowlists: tools.guide.allowlists };
        const tasks = new TasksOnDemand(this.tasks, run.id, () =>
          this.tasks.open(giver, signal, (id, until) =>
            executeTask(id, { limits, signal: until, steering: journal.steering }),
          ),
        );
        const round = new ToolRound(journal, deltas, tools, tasks, signal, abort, this.ends);
        const earlier = run.attempt > 1 ? await this.runs.toolCalls(run.id) : [];
        const repairs = check && run.attempt > 1 ? await this.runs.answersRefused(run.id) : 0;
        const attempt = new RunAttempt(
          { run, journal, limits, check, signal, claimedAt },
          turns,
          tools,
          tasks,
          round,
          deltas,
          this.ends,
        );
        await attempt.takeSteps(earlier, repairs).finally(() => tasks.close());
      } finally {
        await tools.close();
      }
    } catch (error) {
      // What was streamed is kept; where that cannot be written, the fault below says so.
      await Promise.allSettled([deltas.settle()]);
      if (error instanceof RunWaits) throw error;
      if (error instanceof LimitReached) return this.ends.endAt(journal, error.limit);
      const isOutOfTime = limits.expired.aborted && signal.reason === limits.expired.reason;
      if (isOutOfTime) return this.ends.endAt(journal, limits.reachedTime);
      throw signal.aborted ? signal.reason : error;
    } finally {
      ending.release();
    }
  }
}

/** The tasks of an attempt, which are opened for the first of them: most runs have none. */
export class TasksOnDemand {
  private tasks: RunTasks | undefined;
  private readonly unsubscribe: () => void;

  constructor(
    { topics }: TaskRunner,
    runId: string,
    private readonly open: () => RunTasks,
  ) {
    this.unsubscribe = topics.subscribe(tasksTopic(runId), () => this.opened().lookForRequested());
  }

  opened(): RunTasks {
    this.tasks ??= this.open();
    return this.tasks;
  }

  async requestedAtRest(steered: AbortSignal): Promise<void> {
    await this.tasks?.requestedAtRest(steered);
  }

  async close(): Promise<void> {
    this.unsubscribe();
    await this.tasks?.close();
  }
}

/** What the parts of an attempt share. */
export interface AttemptContext {
  readonly run: ClaimedRun;
  readonly journal: RunJournal;
  readonly limits: RunLimits;
  readonly check: ResponseCheck | null;
  /** Aborted when the attempt is to end. */
  readonly signal: AbortSignal;
  readonly claimedAt: number;
}

/** One worker's attempt at a run: model call, tools, model call … until the model asks for no more tools. */
class RunAttempt {
  private repairs = 0;
  private mayRepeatStep = false;

  constructor(
    private readonly context: AttemptContext,
    private readonly turns: RunTurns,
    private readonly tools: RunTools,
    private readonly tasks: TasksOnDemand,
    private readonly round: ToolRound,
    private readonly deltas: DeltaWriter<RunEventType>,
    private readonly ends: AttemptEnds,
  ) {}

  /** `earlier` are the calls of earlier attempts, and `repairs` how many answers those were refused. */
  async takeSteps(earlier: readonly ToolCallRow[], repairs: number): Promise<void> {
    const { run, journal, limits } = this.context;
    const { maxSteps } = this.tools;
    this.repairs = repairs;
    this.tools.resume(earlier);
    let calls = earlier.filter(({ state }) => state !== 'finished').map(fromRow);
    if (run.attempt > 1) this.tasks.opened().lookForRequested();
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
    const { run, journal, limits, check, signal, claimedAt } = this.context;
    const startedAt = new Date();
    // An earlier attempt may have shown something of this step.
    if (this.mayRepeatStep && number === run.step_count + 1)
      await journal.append([restartedElsewhere(number), stepStarted(number)]);
    const { result, costUsd, model, context } = await this.turns.ask(number);
    const rest = await this.deltas.handOver();
    await this.tools.refreshPolicy();
    const calls = this.round.planned(plannedCalls(number, result));
    const step = { number, result, costUsd, model, calls, startedAt, context };
    if (calls.length > 0) {
      const started = calls.filter(({ startsAtOnce }) => startsAtOnce).map(toolStarted);
      await journal.finishStep(step, [...rest, stepFinished(step), ...started]);
      return calls;
    }
    await this.tasks.requestedAtRest(journal.steering.signal);
    signal.throwIfAborted();
    const mayGoOn = () => !limits.reached(this.tools.maxSteps);
    const isLong = run.ran_ms + Date.now() - claimedAt > LONG_MS && !journal.isWatched();
    const { repairs } = this;
    const outcome = await this.ends.endWith({ journal, step, rest, check, repairs, isLong, mayGoOn });
    if (outcome === 'ended') return outcome;
    if (outcome === 'repair') this.repairs += 1;
    return [];
  }

  /** A limit is reached between two steps: the calls that were asked for are not run. */
  private async giveUp(calls: OpenCall[], limit: ReachedLimit): Promise<void> {
    await this.round.refuse(calls, `Not run: the run has reached ${limit.text}`);
    await this.ends.endAt(this.context.journal, limit);
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
