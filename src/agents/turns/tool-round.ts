import { newId } from '../../platform/database/index.js';
import {
  type AskedCall,
  approvalRequested,
  fileChanged,
  type NewEvent,
  type PlannedCall,
  type RunJournal,
  type RunsStore,
  toolFinished,
  toolStarted,
} from '../runs/index.js';
import { type RunTasks, Stillness, TASK } from '../tasks/index.js';
import type { ToolResult } from '../tools/index.js';
import type { DeltaWriter } from './delta-writer.js';
import { INTERRUPTED } from './model-calls.js';
import { ApprovalRequired, RunWaits } from './run-fault.js';
import type { RunTools } from './tool-gateway.js';

/** What the model is told of a call that was not begun because a message had come in. */
const STEERED =
  'Not run: a new message of the user has come in. Read it first, and make this call again if it is still wanted.';

/** A call that has no result yet; one that an earlier attempt had started may have happened. */
export type OpenCall = PlannedCall & { readonly mayHaveHappened?: boolean };

/** What became of a call; `hasRun` where its tool was at work, which counts as used. */
type Outcome = ToolResult & { readonly hasRun?: boolean };

/** Why a call has no result yet: people are to be asked first, or its task waits for them. */
type Unfinished = 'ask' | 'waits';

/** The calls that are left: because people are to be asked about the first of them, or are asked about something in their tasks. */
interface Left {
  readonly toAsk: readonly OpenCall[];
  readonly waiting: readonly OpenCall[];
}

/** How calls are brought to their results. */
interface Work {
  resultOf(call: OpenCall, stillness: Stillness): Promise<Outcome | Unfinished>;
  /** Before what comes next is looked at. */
  ready(): Promise<void>;
  /** Whether a call may be written down as started before its turn. */
  mayStart(call: OpenCall): boolean;
}

/** Brings the tool calls of one step to their results: one after the other, but for tasks, which go on at the same time. */
export class ToolRound {
  private finishing: Promise<void> = Promise.resolve();
  /** Calls that were written down as started with the result of the one before them. */
  private readonly started = new WeakSet<OpenCall>();

  constructor(
    private readonly journal: RunJournal,
    private readonly deltas: DeltaWriter,
    private readonly signal: AbortSignal,
    /** Ends what else is under way in the run, where one call cannot go on. */
    private readonly giveUp: (reason: unknown) => void,
    private readonly runs: Pick<RunsStore, 'wait'>,
  ) {}

  /** Of the calls of a new step, those that may begin with it: what may have to wait does not. */
  planned(calls: readonly PlannedCall[], tools: RunTools): PlannedCall[] {
    return calls.map(call => ({
      ...call,
      startsAtOnce: call.startsAtOnce && tools.verdict(call) === 'make',
    }));
  }

  /** Runs the calls; `then` is told with the last result. Throws RunWaits where all that is left to do is to wait for people. */
  async run(calls: readonly OpenCall[], tools: RunTools, tasks: RunTasks, then: NewEvent): Promise<void> {
    const work: Work = {
      resultOf: (call, stillness) => this.outcome(call, tools, tasks, stillness),
      ready: () => tools.heedPolicy(),
      mayStart: call => !this.isPressed && tools.verdict(call) === 'make',
    };
    for (let open = calls; ; ) {
      const { toAsk, waiting } = await this.finishAll(open, work, [then]);
      if (toAsk.length + waiting.length === 0) return;
      await tasks.requestedAtRest(this.journal.steering.signal);
      this.signal.throwIfAborted();
      if (toAsk.length > 0 && this.isPressed) {
        open = [...toAsk, ...waiting];
        continue;
      }
      if (toAsk.length > 0) await this.ask(toAsk, tools);
      if (await this.journal.waitForTasks()) throw new RunWaits();
      open = waiting;
    }
  }

  /** Gives every call the same answer instead of running it. */
  async refuse(calls: readonly OpenCall[], reason: string): Promise<void> {
    await this.finishAll(calls, {
      resultOf: async call => ({ output: call.mayHaveHappened ? INTERRUPTED : reason, isError: true }),
      ready: async () => undefined,
      mayStart: () => false,
    });
  }

  private async finishAll(
    calls: readonly OpenCall[],
    { resultOf, ready, mayStart }: Work,
    then: NewEvent[] = [],
  ): Promise<Left> {
    let open = calls.length;
    let toAsk: readonly OpenCall[] = [];
    const waiting: OpenCall[] = [];
    const finish = (call: OpenCall, result: Outcome, starting?: OpenCall) =>
      this.inTurn(() => this.finish(call, result, starting, --open === 0 ? then : []));
    const others = calls.filter(({ tool }) => tool !== TASK);
    const tasks = calls.filter(({ tool }) => tool === TASK);
    const stillness = new Stillness(1 + tasks.length);
    const oneByOne = async () => {
      for (const [index, call] of others.entries()) {
        this.signal.throwIfAborted();
        const result = await resultOf(call, stillness);
        if (typeof result === 'string') {
          toAsk = others.slice(index);
          break;
        }
        const next = others[index + 1];
        if (next) await ready();
        await finish(call, result, next && !next.mayHaveHappened && mayStart(next) ? next : undefined);
      }
      stillness.rest();
    };
    const task = async (call: OpenCall) => {
      this.signal.throwIfAborted();
      const result = await resultOf(call, stillness);
      // It is at rest already.
      if (result === 'waits') return void waiting.push(call);
      if (result !== 'ask') await finish(call, result);
      stillness.rest();
    };
    await this.all([oneByOne(), ...tasks.map(task)]);
    return { toAsk, waiting };
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
    starting: OpenCall | undefined,
    then: NewEvent[],
  ): Promise<void> {
    const events: NewEvent[] = [...(await this.deltas.handOver()), toolFinished(call, result)];
    for (const path of result.changed ?? []) events.push(fileChanged(call, path));
    if (starting) events.push(toolStarted(starting));
    events.push(...then);
    await this.journal.finishCall(call, result, events, starting);
    if (starting) this.started.add(starting);
  }

  private async outcome(
    call: OpenCall,
    tools: RunTools,
    tasks: RunTasks,
    stillness: Stillness,
  ): Promise<Outcome | Unfinished> {
    if (call.mayHaveHappened) return { output: INTERRUPTED, isError: true };
    if (this.isPressed && call.tool !== TASK) return { output: STEERED, isError: true };
    const verdict = tools.verdict(call);
    if (verdict === 'ask') return 'ask';
    if (verdict !== 'make') {
      await tools.refused(call, verdict.refusal);
      return { output: verdict.refusal, isError: true };
    }
    if (!call.startsAtOnce && !this.started.has(call))
      await this.inTurn(() => this.journal.startCall(call, [toolStarted(call)]));
    return this.call(call, tools, () => tasks.run(call, this.signal, stillness));
  }

  /** Whether a message waits that no further call is to keep from entering. */
  private get isPressed(): boolean {
    return this.journal.steering.waits || this.journal.steering.isInTheWay;
  }

  /** Asks about every call that needs it at once; the run goes on when all of them are decided. */
  private async ask(left: readonly OpenCall[], tools: RunTools): Promise<never> {
    const { policy, fails } = tools.gate;
    const expiresAt = new Date(Date.now() + policy.deadline_seconds * 1000);
    const asked: AskedCall[] = [];
    for (const call of left) {
      const subject = tools.subjectOf(call);
      if (!subject || call.mayHaveHappened || tools.verdict(call) !== 'ask') continue;
      const { name, effect } = subject;
      const approvalId = newId();
      asked.push({ approvalId, call, name, effect, expiresAt, told: tools.toldOf(approvalId, name, call) });
    }
    if (fails) {
      await this.refuse(left, 'Not run: it needs an approval, and this run may not wait for one.');
      const names = asked.map(({ name }) => name).join(', ');
      throw new ApprovalRequired(`${names} needs an approval, and this run was not to wait for one`);
    }
    await this.runs.wait(this.journal, asked, asked.map(approvalRequested));
    throw new RunWaits();
  }

  private async call(
    call: OpenCall,
    tools: RunTools,
    handOver: () => Promise<ToolResult | 'waits'>,
  ): Promise<Outcome | 'waits'> {
    const { callId, tool, input } = call;
    const onOutput = (text: string) => this.deltas.add('tool.output', text, { id: callId });
    const hooks = { signal: this.signal, yieldSignal: this.journal.steering.signal, onOutput, handOver };
    const result = await tools.call(tool, input, hooks);
    if (result === 'waits') return result;
    // Killed because we stop: that is no result; the next attempt tells the model that the call was interrupted.
    this.signal.throwIfAborted();
    return { ...(await tools.fit(call, result)), hasRun: true };
  }
}
