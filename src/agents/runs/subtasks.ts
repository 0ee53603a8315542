import { once } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Semaphore } from '#libs/concurrency-limit/index.js';
import { Config } from '../../platform/config/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Log } from '../../platform/log/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import { failed, type ToolResult } from '../tools/index.js';
import type { RunAttempt } from './run-attempt.js';
import { type Spent } from './run-limits.js';
import { type PlannedCall, type RunRow, runTopic, tasksTopic } from './run-state.js';
import { RunsStore } from './runs.store.js';
import { TaskStarter } from './task-starter.js';
import { TasksStore } from './tasks.store.js';

/** What a task does while it waits for a person. */
interface TaskPause {
  /** Aborted when there is nothing but waiting in its round. */
  readonly signal: AbortSignal;
  rest(): void;
  resume(): Promise<void>;
}

/** Opens the tasks of runs. */
@Injectable()
export class TaskRunner {
  constructor(
    readonly starter: TaskStarter,
    readonly runs: RunsStore,
    readonly tasks: TasksStore,
    readonly topics: Topics,
    readonly config: Config,
    readonly log: Log,
  ) {}

  /** `allowlists` are those of the attempt's agent and of the agents above it. */
  open(
    attempt: RunAttempt,
    allowlists: readonly (readonly string[])[],
    execute: (id: string, signal: AbortSignal) => Promise<void>,
  ): Subtasks {
    return new Subtasks(this, attempt, allowlists, execute);
  }

  /** What the tasks of a run used before this attempt. */
  spentBefore(runId: string): Promise<Map<string, Spent>> {
    return this.tasks.spent(runId);
  }
}

/**
 * The tasks of one attempt at a run: those that its calls hand over, and those that it starts through actions, from a script
 * in its sandbox, say. They are executed in the run's own worker slot, so none waits for one.
 */
export class Subtasks {
  private readonly slots: Semaphore;
  /** Ids of the tasks that were handed over, by the positions of their calls. */
  private readonly begun = new Map<string, string>();
  private readonly over = new AbortController();
  /** Those that were started through actions. */
  private readonly requested = new Map<string, Promise<void>>();
  private readonly resting = new EventTarget();
  private requestedAtWork = 0;
  private looking: Promise<void> = Promise.resolve();

  private readonly unsubscribe: () => void;

  constructor(
    private readonly runner: TaskRunner,
    private readonly attempt: RunAttempt,
    private readonly allowlists: readonly (readonly string[])[],
    /** Executes what is left of a task until it ends or waits for a person, or `signal` is aborted. */
    private readonly execute: (id: string, signal: AbortSignal) => Promise<void>,
  ) {
    this.slots = new Semaphore(runner.config.runLimits.tasks_at_once);
    const topic = tasksTopic(attempt.run.id);
    this.unsubscribe = runner.topics.subscribe(topic, () => this.lookForRequested());
  }

  /**
   * The result of a call is the end of its task; a call that had begun before goes on where its task stands. `waits` where
   * the task waits for a person, and `idle` says that all others of its round do.
   */
  async run(call: PlannedCall, idle: IdleSignal): Promise<ToolResult | 'waits'> {
    const { signal } = this.attempt;
    try {
      return await this.inSlot(idle, async pause => {
        signal.throwIfAborted();
        const id = await this.start(call);
        if ((await this.toItsEnd(id, pause, signal)) === 'waits') return 'waits';
        signal.throwIfAborted();
        return resultOf(await this.runner.runs.find(id));
      });
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || signal.aborted) throw error;
      return failed(problem.detail);
    }
  }

  /** Executes requested tasks that are not executed yet: new ones, and those that an earlier attempt left. */
  lookForRequested(): void {
    this.looking = this.looking.then(() => this.beginRequested());
  }

  /** Resolves when no requested task is at work, or a message waits that the run is to read first. */
  async requestedAtRest(steered: AbortSignal): Promise<void> {
    await this.looking;
    if (this.requestedAtWork === 0) return;
    const signal = AbortSignal.any([steered, this.over.signal]);
    while (this.requestedAtWork > 0 && !signal.aborted)
      await once(this.resting, 'rest', { signal }).catch(() => undefined);
  }

  /** Executes requested tasks no further; they stay as they are. */
  async close(): Promise<void> {
    this.unsubscribe();
    this.over.abort();
    await this.looking;
    await Promise.all(this.requested.values());
  }

  private async start(call: PlannedCall): Promise<string> {
    const position = `${call.step}/${call.position}`;
    const id =
      this.begun.get(position) ?? (await this.runner.starter.start(this.attempt, this.allowlists, call));
    this.begun.set(position, id);
    return id;
  }

  /** Until the task has ended, or nothing is done in its round but waiting for people. */
  private async toItsEnd(id: string, pause: TaskPause, signal: AbortSignal): Promise<'ended' | 'waits'> {
    const { runs, topics } = this.runner;
    const wakeUp = new Subscription(topics, runTopic(id));
    try {
      while (!signal.aborted) {
        await this.execute(id, signal);
        if (signal.aborted || !(await runs.isPending(id))) break;
        pause.rest();
        await wakeUp.wait(AbortSignal.any([signal, pause.signal]));
        if (signal.aborted) break;
        if (pause.signal.aborted) return 'waits';
        await pause.resume();
      }
      return 'ended';
    } finally {
      wakeUp.close();
    }
  }

  /** While a task waits for people, others have its slot. */
  private async inSlot<T>(idle: IdleSignal, work: (pause: TaskPause) => Promise<T>): Promise<T> {
    const { slots } = this;
    await slots.acquire();
    let isIn = true;
    const rest = () => {
      isIn = false;
      slots.release();
      idle.rest();
    };
    const resume = async () => {
      idle.resume();
      await slots.acquire();
      isIn = true;
    };
    try {
      return await work({ signal: idle.signal, rest, resume });
    } finally {
      if (isIn) slots.release();
    }
  }

  private async beginRequested(): Promise<void> {
    const { tasks, log } = this.runner;
    if (this.over.signal.aborted) return;
    try {
      for (const id of await tasks.pending(this.attempt.run.id, undefined, { requested: true }))
        if (!this.requested.has(id) && !this.over.signal.aborted)
          this.requested.set(id, this.runRequested(id));
    } catch (error) {
      // Every topic is published again when the connection is back.
      log.warn({ err: error }, 'run: reading the tasks that it started failed');
    }
  }

  private async runRequested(id: string): Promise<void> {
    const { signal } = this.over;
    let isAtWork = true;
    this.requestedAtWork++;
    const rest = () => {
      isAtWork = false;
      this.requestedAtWork--;
      this.resting.dispatchEvent(new Event('rest'));
    };
    const resume = () => {
      isAtWork = true;
      this.requestedAtWork++;
    };
    try {
      const until = AbortSignal.any([this.attempt.signal, signal]);
      await this.inSlot({ signal, rest, resume }, async pause => {
        if (!signal.aborted) await this.toItsEnd(id, pause, until);
      });
    } catch (error) {
      this.runner.log.warn({ err: error, task_id: id }, 'run: executing a task that it started failed');
    } finally {
      if (isAtWork) rest();
    }
  }
}

function resultOf(run: RunRow | undefined): ToolResult {
  if (!run) return failed('The task is gone: its chat was deleted');
  const { status, stop_reason, agent_name, response, response_schema, response_json, error } = run;
  if (status === 'error')
    return failed(`The agent ${agent_name} failed: ${error?.message ?? 'no reason known'}`);
  if (stop_reason === 'end_turn' && response_schema !== null)
    return { output: JSON.stringify(response_json?.value), isError: false };
  if (stop_reason === 'end_turn')
    return { output: response || `The agent ${agent_name} ended without an answer.`, isError: false };
  if (stop_reason === 'yielded')
    return failed(
      `The agent ${agent_name} ended before it had finished, as a new message of the user has come in. Read it first, and hand the rest over again if it is still wanted. ${response ? `What it had said so far: ${response}` : 'It had said nothing yet.'}`,
    );
  return failed(`The agent ${agent_name} did not finish (${stop_reason}). ${response ?? ''}`.trim());
}

/** Where tasks say that they wait for people, or go on. */
interface IdleSignal {
  /** Aborted when nothing of what belongs together is at work. */
  readonly signal: AbortSignal;
  rest(): void;
  resume(): void;
}

/** Tells when nothing of one round of calls is at work any more, and what is left waits for people. */
export class RoundActivity implements IdleSignal {
  private readonly idle = new AbortController();

  /** `atWork` is how many begin. */
  constructor(private atWork: number) {}

  get signal(): AbortSignal {
    return this.idle.signal;
  }

  rest(): void {
    this.atWork -= 1;
    if (this.atWork === 0) this.idle.abort();
  }

  resume(): void {
    this.atWork += 1;
  }
}
