import type { Database } from '../../platform/database/database.js';
import type { Row } from '../../platform/database/rows.js';
import type { MessagesStore } from '../chats/messages.store.js';
import { DeltaWriter } from './delta-writer.js';
import { INTERRUPTED } from './prompt.js';
import type { Run } from './run.entity.js';
import type { FinishedStep, NewEvent, PlannedCall, RunJournal } from './run-journal.js';
import type { RunsStore } from './runs.store.js';
import type { StepCaller } from './step-caller.js';
import type { ToolCall } from './tool-call.entity.js';
import type { RunTools, ToolGateway } from './tool-gateway.js';

/** What an attempt works with. */
export interface RunParts {
  readonly database: Database;
  readonly runs: RunsStore;
  readonly messages: MessagesStore;
  readonly steps: StepCaller;
  readonly tools: ToolGateway;
  readonly mostSteps: number;
}

/** One worker's attempt at a run: model call, tools, model call … until the model asks for no more tools. */
export class RunAttempt {
  private readonly stop = new AbortController();
  private readonly deltas: DeltaWriter;
  private fault: unknown;

  constructor(
    private readonly parts: RunParts,
    private readonly run: Row<Run>,
    private readonly journal: RunJournal,
    handBack: AbortSignal,
  ) {
    this.deltas = new DeltaWriter(
      events => journal.tell(events),
      error => this.abort(error),
    );
    const onHandBack = () => this.abort(new Error('The service is stopping'));
    if (handBack.aborted) onHandBack();
    handBack.addEventListener('abort', onHandBack, { once: true, signal: this.stop.signal });
  }

  async toTheEnd(): Promise<void> {
    try {
      const tools = await this.parts.tools.open(this.run);
      await this.finishCalls(tools, await this.openCalls());
      for (let step = this.run.step_count + 1; ; step++) {
        const calls = await this.step(step, tools);
        if (calls.length === 0) return;
        await this.finishCalls(tools, calls);
      }
    } catch (error) {
      await this.deltas.settle().catch(() => undefined);
      throw this.fault ?? error;
    }
  }

  /** Calls of the last step that an earlier attempt left unfinished; those it had started may have happened. */
  private async openCalls(): Promise<(PlannedCall & { mayHaveHappened?: boolean })[]> {
    if (this.run.attempt === 1) return [];
    const calls = await this.parts.runs.toolCalls(this.run.id);
    return calls.filter(({ state }) => state !== 'finished').map(fromRow);
  }

  /** One model call, written down with the calls it asks for; with none, that is the end of the run. */
  private async step(number: number, tools: RunTools): Promise<PlannedCall[]> {
    const { steps, messages } = this.parts;
    const rows = await messages.list(this.run.chat_id, { upTo: this.run.number });
    const startedAt = new Date();
    await this.journal.tell([{ type: 'step.started', data: { step: number } }]);
    const { result, costUsd } = await steps.call({
      run: this.run,
      rows,
      tools,
      signal: this.stop.signal,
      onDelta: ({ type, text }) => this.deltas.add(`${type}.delta`, text, { step: number }),
      onRestart: why => this.restarted(number, why),
    });
    await this.deltas.settle();
    const calls = result.tool_calls.map(({ id, tool, input, invalid }, position) => ({
      step: number,
      position,
      callId: id,
      tool,
      input: invalid === undefined ? input : { invalid },
    }));
    const step = { number, result, costUsd, calls, startedAt };
    if (calls.length > 0) await this.journal.finishStep(step, [finished(step), ...calls.slice(0, 1).map(started)]);
    else await this.endWith(step);
    if (calls.length > 0 && number >= Math.min(this.parts.mostSteps, tools.mostSteps)) return this.giveUp(calls, number);
    return calls;
  }

  private restarted(step: number, why: { attempt: number; delay_ms: number; message: string }): void {
    this.deltas.discard();
    this.journal.tell([{ type: 'step.restarted', data: { step, ...why } }]).catch(error => this.abort(error));
  }

  /** The last step and the end of the run in one transaction, which also lets the chat's next run go. */
  private async endWith(step: FinishedStep): Promise<void> {
    const { text, finish_reason } = step.result;
    await this.parts.database.transaction(async unit => {
      await this.parts.runs.lockChat(unit, this.run.chat_id);
      await this.journal.finishStep(step, [finished(step)], unit.tables());
      await this.journal.end(unit.tables(), { status: 'completed', stopReason: STOP_REASONS[finish_reason] ?? 'end_turn', response: text });
      await this.parts.runs.enqueueNext(unit, this.run.chat_id);
    });
  }

  /** The step limit is reached: the calls that were asked for are run no more. */
  private async giveUp(calls: PlannedCall[], steps: number): Promise<PlannedCall[]> {
    for (const [index, call] of calls.entries()) {
      const output = `Not run: the run has reached its limit of ${steps} steps`;
      await this.journal.finishCall(call, { output, isError: true }, [ended(call, output, true)], calls[index + 1]);
    }
    await this.parts.database.transaction(async unit => {
      await this.parts.runs.lockChat(unit, this.run.chat_id);
      await this.journal.end(unit.tables(), { status: 'completed', stopReason: 'max_steps', response: `Stopped after ${steps} steps, the limit of this run.` });
      await this.parts.runs.enqueueNext(unit, this.run.chat_id);
    });
    return [];
  }

  /** Runs the calls one after the other; the first is already marked as started. */
  private async finishCalls(tools: RunTools, calls: (PlannedCall & { mayHaveHappened?: boolean })[]): Promise<void> {
    for (const [index, call] of calls.entries()) {
      this.stop.signal.throwIfAborted();
      const result = call.mayHaveHappened ? { output: INTERRUPTED, isError: true } : await this.call(tools, call);
      await this.deltas.settle();
      const next = calls[index + 1];
      const startsNext = next && !next.mayHaveHappened ? next : undefined;
      const events: NewEvent[] = [ended(call, result.output, result.isError)];
      for (const path of result.changed ?? []) events.push({ type: 'file.changed', data: { path, id: call.callId } });
      if (startsNext) events.push(started(startsNext));
      await this.journal.finishCall(call, result, events, startsNext);
    }
  }

  private async call(tools: RunTools, { callId, tool, input }: PlannedCall) {
    const onOutput = (text: string) => this.deltas.add('tool.output', text, { id: callId });
    const result = await tools.call(tool, input, { signal: this.stop.signal, onOutput });
    // Killed because we stop: that is no result; the next attempt tells the model that the call was interrupted.
    this.stop.signal.throwIfAborted();
    return result;
  }

  private abort(error: unknown): void {
    this.fault ??= error;
    this.stop.abort(error);
  }
}

const STOP_REASONS: Record<string, string> = { length: 'length', 'content-filter': 'refusal', error: 'model_error' };

function fromRow({ step, position, call_id, tool, input, state }: Row<ToolCall>) {
  return { step, position, callId: call_id, tool, input, mayHaveHappened: state === 'started' };
}

const started = ({ callId, tool, input, step }: PlannedCall): NewEvent => ({
  type: 'tool.started',
  data: { id: callId, tool, input, step },
});

const ended = ({ callId, tool, step }: PlannedCall, output: string, is_error: boolean): NewEvent => ({
  type: 'tool.finished',
  data: { id: callId, tool, step, output, is_error },
});

const finished = ({ number, result, costUsd }: FinishedStep): NewEvent => ({
  type: 'step.finished',
  data: { step: number, finish_reason: result.finish_reason, usage: result.usage, cost_usd: costUsd },
});
