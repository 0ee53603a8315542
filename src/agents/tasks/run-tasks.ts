import { problemOf } from '../../platform/errors/index.js';
import type { Log } from '../../platform/log/index.js';
import type { Topics } from '../../platform/topics/index.js';
import { type PlannedCall, type RunRow, type RunsStore, type TasksStore, tasksTopic } from '../runs/index.js';
import { failed, type ToolResult } from '../tools/index.js';
import type { TaskGiver, TaskStarter } from './task-starter.js';

/** What a task does while it waits for a person. */
export interface TaskPause {
  /** Aborted when there is nothing but waiting in its round. */
  readonly signal: AbortSignal;
  rest(): void;
  resume(): Promise<void>;
}

/**
 * Carries the run of a task, or what is left of it, to its end within the attempt above it; or until it waits for a person
 * and nothing else is done in its round.
 */
export type CarryTask = (taskId: string, pause: TaskPause) => Promise<'ended' | 'waits'>;

interface Parts {
  readonly starter: TaskStarter;
  readonly runs: RunsStore;
  readonly carry: CarryTask;
  /** For those that are carried at once. */
  readonly places: Places;
  /** Those that the run started through actions. */
  readonly requested: RequestedTasks;
}

/** The tasks that one attempt at a run hands over. They are carried in its place on the queue, so they cannot wait for one. */
export class RunTasks {
  /** Ids of the tasks that were handed over, by the places of their calls. */
  private readonly begun = new Map<string, string>();

  constructor(
    private readonly parts: Parts,
    private readonly giver: TaskGiver,
  ) {}

  /**
   * The result of a call is the end of its task; a call that had begun before goes on where its task stands. `waits` where
   * the task waits for a person, and `stillness` says that all others of its round do.
   */
  async run(call: PlannedCall, signal: AbortSignal, stillness: Stillness): Promise<ToolResult | 'waits'> {
    await this.parts.places.enter();
    let isIn = true;
    const pause: TaskPause = {
      signal: stillness.signal,
      rest: () => {
        isIn = false;
        this.parts.places.leave();
        stillness.rest();
      },
      resume: async () => {
        stillness.resume();
        await this.parts.places.enter();
        isIn = true;
      },
    };
    try {
      signal.throwIfAborted();
      const id = await this.start(call);
      if ((await this.parts.carry(id, pause)) === 'waits') return 'waits';
      signal.throwIfAborted();
      return resultOf(await this.parts.runs.find(id));
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || signal.aborted) throw error;
      return failed(problem.detail);
    } finally {
      if (isIn) this.parts.places.leave();
    }
  }

  /** Resolves when no task that was started through an action is at work, or a message waits that the run is to read first. */
  requestedAtRest(steered: AbortSignal): Promise<void> {
    return this.parts.requested.atRest(steered);
  }

  /** Takes up those that an earlier attempt left. */
  lookForRequested(): void {
    this.parts.requested.look();
  }

  /** What the run started through actions is carried no further. */
  close(): Promise<void> {
    return this.parts.requested.close();
  }

  private async start(call: PlannedCall): Promise<string> {
    const place = `${call.step}/${call.position}`;
    const id = this.begun.get(place) ?? (await this.parts.starter.start(this.giver, call));
    this.begun.set(place, id);
    return id;
  }
}

function resultOf(run: RunRow | undefined): ToolResult {
  if (!run) return failed('The task is gone: its chat was deleted');
  const { status, stop_reason, agent_name, response, error } = run;
  if (status === 'error')
    return failed(`The agent ${agent_name} failed: ${error?.message ?? 'no reason known'}`);
  if (stop_reason === 'end_turn')
    return { output: response || `The agent ${agent_name} ended without an answer.`, isError: false };
  if (stop_reason === 'yielded')
    return failed(
      `The agent ${agent_name} ended before it had finished, as a new message of the user has come in. Read it first, and hand the rest over again if it is still wanted. ${response ? `What it had said so far: ${response}` : 'It had said nothing yet.'}`,
    );
  return failed(`The agent ${agent_name} did not finish (${stop_reason}). ${response ?? ''}`.trim());
}

/** So many may be at work at once; others wait their turn, in the order in which they came. */
export class Places {
  private busy = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly atOnce: number) {}

  async enter(): Promise<void> {
    if (this.busy >= this.atOnce)
      await new Promise<void>(resolve => {
        this.waiting.push(resolve);
      });
    else this.busy++;
  }

  /** Hands its place to the next that waits. */
  leave(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.busy--;
  }
}

/** Tells when nothing of what belongs together is at work any more, and what is left waits for people. */
export class Stillness {
  private readonly still = new AbortController();

  /** `atWork` is how many begin. */
  constructor(private atWork: number) {}

  /** Aborted when it has become still, from then on. */
  get signal(): AbortSignal {
    return this.still.signal;
  }

  /** One has come to its end, or waits from now on. */
  rest(): void {
    this.atWork -= 1;
    if (this.atWork === 0) this.still.abort();
  }

  /** One that waited goes on. */
  resume(): void {
    this.atWork += 1;
  }
}

interface RequestedParts {
  readonly tasks: TasksStore;
  readonly topics: Topics;
  readonly log: Log;
  readonly places: Places;
  /** Until `over` is aborted. */
  readonly carry: (over: AbortSignal) => CarryTask;
}

/**
 * Tasks that a run started through actions: from a script in its sandbox, say. One attempt at the run carries them beside
 * what its model does, in the run's own place on the queue.
 */
export class RequestedTasks {
  private readonly over = new AbortController();
  private readonly carried = new Map<string, Promise<void>>();
  private readonly resting = new EventTarget();
  private atWork = 0;
  private looking: Promise<void> = Promise.resolve();
  private readonly unsubscribe: () => void;

  constructor(
    private readonly runId: string,
    private readonly parts: RequestedParts,
  ) {
    this.unsubscribe = parts.topics.subscribe(tasksTopic(runId), () => this.look());
  }

  /** Takes up those that are not carried yet. */
  look(): void {
    this.looking = this.looking.then(() => this.takeUp());
  }

  async atRest(steered: AbortSignal): Promise<void> {
    await this.looking;
    while (this.atWork > 0 && !steered.aborted && !this.over.signal.aborted)
      await new Promise<void>(resolve => {
        const done = () => {
          for (const signal of [steered, this.over.signal]) signal.removeEventListener('abort', done);
          this.resting.removeEventListener('rest', done);
          resolve();
        };
        for (const signal of [steered, this.over.signal]) signal.addEventListener('abort', done);
        this.resting.addEventListener('rest', done);
      });
  }

  /** Carries them no further; they stay as they are. */
  async close(): Promise<void> {
    this.unsubscribe();
    this.over.abort();
    await this.looking;
    await Promise.all(this.carried.values());
  }

  private async takeUp(): Promise<void> {
    if (this.over.signal.aborted) return;
    try {
      for (const id of await this.parts.tasks.requested(this.runId))
        if (!this.carried.has(id) && !this.over.signal.aborted) this.carried.set(id, this.carry(id));
    } catch (error) {
      // Looked for again when the connection is back: then every topic is told.
      this.parts.log.warn({ err: error }, 'run: the tasks that it started cannot be looked for');
    }
  }

  private async carry(id: string): Promise<void> {
    const { places, carry, log } = this.parts;
    this.atWork++;
    await places.enter();
    let isIn = true;
    const rest = () => {
      isIn = false;
      places.leave();
      this.rest();
    };
    const resume = async () => {
      this.atWork++;
      await places.enter();
      isIn = true;
    };
    try {
      const { signal } = this.over;
      if (!signal.aborted) await carry(signal)(id, { signal, rest, resume });
    } catch (error) {
      log.warn({ err: error, task_id: id }, 'run: a task that it started cannot be carried on now');
    } finally {
      if (isIn) rest();
    }
  }

  private rest(): void {
    this.atWork--;
    this.resting.dispatchEvent(new Event('rest'));
  }
}
