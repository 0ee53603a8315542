import type { ToolResult } from '../../workspaces/index.js';
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

/** Brings the tool calls of one step to their results, one after the other. */
export class ToolRound {
  constructor(
    private readonly journal: RunJournal,
    private readonly deltas: DeltaWriter,
    private readonly signal: AbortSignal,
  ) {}

  /** Runs the calls; `then` is told with the last result. The first one that has not happened counts as started already where it comes right after its step. */
  async run(calls: readonly OpenCall[], tools: RunTools, then: NewEvent): Promise<void> {
    await this.finishAll(
      calls,
      call => (call.mayHaveHappened ? { output: INTERRUPTED, isError: true } : this.call(call, tools)),
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
    for (const [index, call] of calls.entries()) {
      this.signal.throwIfAborted();
      const result = await resultOf(call);
      const rest = await this.deltas.handOver();
      const next = calls[index + 1];
      await this.finish(call, result, rest, next, next ? [] : then);
    }
  }

  /** The result of one call and the start of the next are written down together. */
  private finish(
    call: OpenCall,
    result: Outcome,
    rest: NewEvent[],
    next: OpenCall | undefined,
    then: NewEvent[],
  ): Promise<void> {
    const starting = next?.mayHaveHappened ? undefined : next;
    const events: NewEvent[] = [...rest, toolFinished(call, result)];
    for (const path of result.changed ?? []) events.push(fileChanged(call, path));
    if (starting) events.push(toolStarted(starting));
    events.push(...then);
    return this.journal.finishCall(call, result, events, starting);
  }

  private async call({ callId, tool, input }: OpenCall, tools: RunTools): Promise<Outcome> {
    const { steering } = this.journal;
    if (steering.waits) return { output: STEERED, isError: true };
    const onOutput = (text: string) => this.deltas.add('tool.output', text, { id: callId });
    const hooks = { signal: this.signal, yieldSignal: steering.signal, onOutput };
    const result = await tools.call(tool, input, hooks);
    // Killed because we stop: that is no result; the next attempt tells the model that the call was interrupted.
    this.signal.throwIfAborted();
    return { ...result, hasRun: true };
  }
}
