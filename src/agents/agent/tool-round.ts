import type { ToolResult } from '../../workspaces/index.js';
import type { RunTasks } from '../tasks/run-tasks.js';
import { TASK } from '../tasks/task-tool.js';
import type { DeltaWriter } from './delta-writer.js';
import { fileChanged, toolFinished, toolStarted } from './new-events.js';
import { INTERRUPTED } from './prompt.js';
import type { NewEvent, PlannedCall, RunJournal } from './run-journal.js';
import type { RunTools } from './tool-gateway.js';

/** What the model is told of a call that was not begun because a message had come in. */
const STEERED =
  'Not run: a new message of the user has come in. Read it first, and make this call again if it is still wanted.';

/** A call that has no result yet; one that an earlier attempt had started may have happened. */
export type OpenCall = PlannedCall & { readonly mayHaveHappened?: boolean };

/** What became of a call; `hasRun` where its tool was at work, which counts as used. */
type Outcome = ToolResult & { readonly hasRun?: boolean };

/** Brings the tool calls of one step to their results: one after the other, but for tasks, which go on at the same time. */
export class ToolRound {
  private finishing: Promise<void> = Promise.resolve();

  constructor(
    private readonly journal: RunJournal,
    private readonly deltas: DeltaWriter,
    private readonly signal: AbortSignal,
    /** Ends what else is under way in the run, where one call cannot go on. */
    private readonly giveUp: (reason: unknown) => void,
  ) {}

  /** Runs the calls; `then` is told with the last result. */
  async run(calls: readonly OpenCall[], tools: RunTools, tasks: RunTasks, then: NewEvent): Promise<void> {
    await this.finishAll(
      calls,
      call => (call.mayHaveHappened ? { output: INTERRUPTED, isError: true } : this.call(call, tools, tasks)),
      [then],
    );
  }

  /** Gives every call the same answer instead of running it. */
  async refuse(calls: readonly OpenCall[], reason: string): Promise<void> {
    await this.finishAll(calls, call => ({
      output: call.mayHaveHappened ? INTERRUPTED : reason,
      isError: true,
    }));
  }

  private async finishAll(
    calls: readonly OpenCall[],
    resultOf: (call: OpenCall) => Outcome | Promise<Outcome>,
    then: NewEvent[] = [],
  ): Promise<void> {
    let open = calls.length;
    const finish = (call: OpenCall, result: Outcome, next?: OpenCall) =>
      this.inTurn(() => this.finish(call, result, next, --open === 0 ? then : []));
    const others = calls.filter(({ tool }) => tool !== TASK);
    const tasks = calls.filter(({ tool }) => tool === TASK);
    await this.all([
      this.oneByOne(others, async (call, next) => finish(call, await resultOf(call), next)),
      ...tasks.map(async call => {
        this.signal.throwIfAborted();
        await finish(call, await resultOf(call));
      }),
    ]);
  }

  private async oneByOne(
    calls: readonly OpenCall[],
    work: (call: OpenCall, next: OpenCall | undefined) => Promise<void>,
  ): Promise<void> {
    for (const [index, call] of calls.entries()) {
      this.signal.throwIfAborted();
      await work(call, calls[index + 1]);
    }
  }

  /** Until all have come to their end; where one fails, the others are made to end. */
  private async all(works: readonly Promise<void>[]): Promise<void> {
    const watched = works.map(async work => {
      try {
        await work;
      } catch (error) {
        if (works.length > 1) this.giveUp(error);
        throw error;
      }
    });
    const ends = await Promise.allSettled(watched);
    const failed = ends.find(end => end.status === 'rejected');
    if (failed) throw failed.reason;
  }

  /** Results are written one after the other, each with the output before it. */
  private inTurn(write: () => Promise<void>): Promise<void> {
    const turn = this.finishing.then(write);
    this.finishing = turn.catch(() => undefined);
    return turn;
  }

  /** The result of one call and the start of the next are written down together. */
  private async finish(
    call: OpenCall,
    result: Outcome,
    next: OpenCall | undefined,
    then: NewEvent[],
  ): Promise<void> {
    const starting = next?.mayHaveHappened ? undefined : next;
    const events: NewEvent[] = [...(await this.deltas.handOver()), toolFinished(call, result)];
    for (const path of result.changed ?? []) events.push(fileChanged(call, path));
    if (starting) events.push(toolStarted(starting));
    events.push(...then);
    await this.journal.finishCall(call, result, events, starting);
  }

  private async call(call: OpenCall, tools: RunTools, tasks: RunTasks): Promise<Outcome> {
    const { callId, tool, input } = call;
    const { steering } = this.journal;
    if (steering.waits && tool !== TASK) return { output: STEERED, isError: true };
    const onOutput = (text: string) => this.deltas.add('tool.output', text, { id: callId });
    const hooks = { signal: this.signal, yieldSignal: steering.signal, onOutput };
    const result = await tools.call(tool, input, hooks, () => tasks.run(call, this.signal));
    // Killed because we stop: that is no result; the next attempt tells the model that the call was interrupted.
    this.signal.throwIfAborted();
    return { ...result, hasRun: true };
  }
}
