import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/database/index.js';
import { ApprovalWording, type AskedCall } from '../approvals/index.js';
import { type NewQuestion, QuestionViews } from '../questions/index.js';
import type { ToolResult } from '../tools/index.js';
import { CallResults } from './call-results.js';
import { INTERRUPTED } from './prompt.js';
import type { RunAttempt } from './run-attempt.js';
import { RunAuthority } from './run-authority.js';
import { RunEnds } from './run-ends.js';
import type { CallOutcome } from './run-journal.js';
import { type NewEvent, type PlannedCall, toolStarted } from './run-state.js';
import type { RunTools } from './run-tools.js';
import { RoundActivity, type Subtasks } from './subtasks.js';
import { TASK } from './task-starter.js';

/** The result of a call that was not begun because a message had come in. */
const STEERED =
  'Not run: a new message of the user has come in. Read it first, and make this call again if it is still wanted.';

/** A call needs an approval, and the run was started so that it fails where it would have to wait. */
export class ApprovalRequired extends Error {}

/** People are asked about calls of the run, or by them: it goes on when they have answered. Nothing is wrong with it. */
export class RunWaits extends Error {
  constructor() {
    super('The run waits for people');
  }
}

/** A call that has no result yet; one that an earlier attempt had started may have happened. */
export type OpenCall = PlannedCall & { readonly mayHaveHappened?: boolean };

/** Why a call has no result yet: people are to be asked first, or its task waits for them. */
type Unfinished = 'ask' | 'waits';

/** The calls that are left: because people are to be asked about the first of them, or are asked about something in their tasks. */
interface Left {
  readonly toAsk: readonly OpenCall[];
  readonly waiting: readonly OpenCall[];
}

/** So many calls that only read are made at once. */
const MAX_AT_ONCE = 8;

/** Opens the rounds of attempts. */
@Injectable()
export class ToolRounds {
  constructor(
    readonly ends: RunEnds,
    readonly results: CallResults,
    readonly authority: RunAuthority,
    readonly wording: ApprovalWording,
    readonly questions: QuestionViews,
  ) {}

  open(attempt: RunAttempt, tools: RunTools, subtasks: Subtasks): ToolRound {
    return new ToolRound(this, attempt, tools, subtasks);
  }
}

/**
 * Brings the tool calls of one step to their results. Neighbours that only read are made together, up to {@link MAX_AT_ONCE};
 * any other call begins when all before it have ended. Tasks go on at the same time.
 */
export class ToolRound {
  private finishing: Promise<void> = Promise.resolve();
  /** Calls that were written down as started with the result of the one before them. */
  private readonly started = new WeakSet<OpenCall>();

  constructor(
    private readonly services: ToolRounds,
    private readonly attempt: RunAttempt,
    private readonly tools: RunTools,
    private readonly subtasks: Subtasks,
  ) {}

  /** Of the calls of a new step, those that may begin with it: what may have to wait does not. */
  planned(calls: readonly PlannedCall[]): PlannedCall[] {
    const others = calls.filter(({ tool }) => tool !== TASK);
    const first = new Set(this.together(others, 0));
    return calls.map(call => ({
      ...call,
      startsAtOnce: (call.startsAtOnce || first.has(call)) && this.tools.verdict(call) === 'make',
    }));
  }

  /** Runs the calls; `then` is appended with the last result. Throws RunWaits where all that is left to do is to wait for people. */
  async run(calls: readonly OpenCall[], then: NewEvent): Promise<void> {
    for (let open = calls; ; ) {
      const { toAsk, waiting } = await this.finishAll(open, [then]);
      if (toAsk.length + waiting.length === 0) return;
      await this.subtasks.requestedAtRest(this.attempt.journal.steering.signal);
      this.attempt.signal.throwIfAborted();
      if (toAsk.length > 0 && this.isPressed) {
        open = [...toAsk, ...waiting];
        continue;
      }
      if (toAsk.length > 0) await this.ask(toAsk);
      if (await this.attempt.journal.waitForTasks()) throw new RunWaits();
      open = waiting;
    }
  }

  /** Gives every call the same answer instead of running it. */
  async refuse(calls: readonly OpenCall[], reason: string): Promise<void> {
    for (const call of calls) {
      const output = call.mayHaveHappened ? INTERRUPTED : reason;
      await this.inTurn(() => this.finish(call, { output, isError: true }, [], []));
    }
  }

  private async finishAll(calls: readonly OpenCall[], then: NewEvent[]): Promise<Left> {
    let open = calls.length;
    let toAsk: readonly OpenCall[] = [];
    const waiting: OpenCall[] = [];
    const finish = (call: OpenCall, result: CallOutcome, starting: readonly OpenCall[] = []) =>
      this.inTurn(() => this.finish(call, result, starting, --open === 0 ? then : []));
    const others = calls.filter(({ tool }) => tool !== TASK);
    const tasks = calls.filter(({ tool }) => tool === TASK);
    const activity = tasks.length > 0 ? new RoundActivity(1 + tasks.length) : undefined;
    const inOrder = async () => {
      for (let at = 0; at < others.length && toAsk.length === 0; ) {
        this.attempt.signal.throwIfAborted();
        const group = this.together(others, at);
        at += group.length;
        const left = new Set<OpenCall>();
        let unfinished = group.length;
        const one = async (call: OpenCall) => {
          const result = await this.outcome(call, activity);
          unfinished -= 1;
          if (typeof result === 'string') left.add(call);
          if (unfinished > 0 || left.size > 0 || at === others.length)
            return typeof result === 'string' ? undefined : finish(call, result);
          await this.tools.gate.refresh();
          const next = this.together(others, at);
          return finish(
            call,
            result as CallOutcome,
            next.filter(call => this.mayStart(call)),
          );
        };
        await this.all(group.map(one));
        if (left.size > 0) toAsk = [...group.filter(call => left.has(call)), ...others.slice(at)];
      }
      activity?.rest();
    };
    const task = async (call: OpenCall) => {
      this.attempt.signal.throwIfAborted();
      const result = await this.outcome(call, activity);
      // It is at rest already.
      if (result === 'waits') return void waiting.push(call);
      if (result !== 'ask') await finish(call, result);
      activity?.rest();
    };
    await this.all([inOrder(), ...tasks.map(task)]);
    return { toAsk, waiting };
  }

  /** Until all have come to their end; where one fails, the others are made to end. */
  private async all(works: readonly Promise<void>[]): Promise<void> {
    const watched = works.map(async work => {
      try {
        await work;
      } catch (error) {
        if (works.length > 1) this.attempt.abort(error);
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

  /** The result of one call and the start of those that are next are written down together. */
  private async finish(
    call: OpenCall,
    result: CallOutcome,
    starting: readonly OpenCall[],
    then: NewEvent[],
  ): Promise<void> {
    const { callId: id, tool, step } = call;
    const data = { id, tool, step, output: result.output, is_error: result.isError };
    const events: NewEvent[] = [...(await this.attempt.deltas.handOver()), { type: 'tool.finished', data }];
    for (const path of result.changed ?? []) events.push({ type: 'file.changed', data: { path, id } });
    if (result.plan) events.push({ type: 'plan.updated', data: { id, items: result.plan } });
    events.push(...starting.map(toolStarted), ...then);
    await this.attempt.journal.finishCall(call, result, events, starting);
    for (const next of starting) this.started.add(next);
  }

  private async outcome(
    call: OpenCall,
    activity: RoundActivity | undefined,
  ): Promise<CallOutcome | Unfinished> {
    const { tools } = this;
    if (call.mayHaveHappened) return { output: INTERRUPTED, isError: true };
    if (this.isPressed && call.tool !== TASK) return { output: STEERED, isError: true };
    const verdict = tools.verdict(call);
    if (verdict === 'ask') return 'ask';
    if (verdict !== 'make') {
      await tools.refused(call, verdict.refusal);
      return { output: verdict.refusal, isError: true };
    }
    if (!call.startsAtOnce && !this.started.has(call))
      await this.inTurn(() => this.attempt.journal.startCall(call, [toolStarted(call)]));
    return this.call(call, () => this.subtasks.run(call, activity ?? new RoundActivity(1)));
  }

  /** Whether a call may be written down as started before its turn. */
  private mayStart(call: OpenCall): boolean {
    return !call.mayHaveHappened && !this.isPressed && this.tools.verdict(call) === 'make';
  }

  /** The calls from `at` on that are made together: neighbours that may overlap, or one call alone. */
  private together(calls: readonly OpenCall[], at: number): readonly OpenCall[] {
    const most = calls.slice(at, at + MAX_AT_ONCE);
    const end = most.findIndex(call => !this.mayOverlap(call));
    return most.slice(0, Math.max(1, end === -1 ? most.length : end));
  }

  /** A call that only reads, and about which no one has to be asked. */
  private mayOverlap(call: OpenCall): boolean {
    return this.tools.subjectOf(call)?.effect === 'read' && this.tools.verdict(call) === 'make';
  }

  /** Whether a message waits that no further call is to keep from entering. */
  private get isPressed(): boolean {
    return this.attempt.journal.steering.waits || this.attempt.journal.steering.isInTheWay;
  }

  /** Asks about every call that needs it at once; the run goes on when all of them are decided. */
  private async ask(left: readonly OpenCall[]): Promise<never> {
    const { deadlineSeconds, fails } = this.tools.gate;
    const now = await this.attempt.journal.databaseTime();
    const expires_at = new Date(now.getTime() + deadlineSeconds * 1000);
    const approvals: AskedCall[] = [];
    const questions: NewQuestion[] = [];
    const events: NewEvent[] = [];
    for (const call of left) {
      if (call.mayHaveHappened || this.tools.verdict(call) !== 'ask') continue;
      const { step, position, callId, input } = call;
      const id = newId();
      const question = this.tools.questionOf(call);
      if (question) {
        questions.push({ id, step, position, call_id: callId, ...question, expires_at });
        const shown = { id: callId, step, ...question, link: this.services.questions.linkTo(id), expires_at };
        events.push({ type: 'question.asked', data: { question_id: id, ...shown } });
        continue;
      }
      const subject = this.tools.subjectOf(call);
      if (!subject) continue;
      const { name: tool, effect } = subject;
      approvals.push({ id, step, position, call_id: callId, tool, effect, input, expires_at });
      const shown = { id: callId, step, tool, effect, ...this.wordsOn(id, tool, call), expires_at };
      events.push({ type: 'approval.requested', data: { approval_id: id, ...shown } });
    }
    if (fails && approvals.length > 0) {
      await this.refuse(left, 'Not run: it needs an approval, and this run may not wait for one.');
      const names = approvals.map(({ tool }) => tool).join(', ');
      throw new ApprovalRequired(`${names} needs an approval, and this run was not to wait for one`);
    }
    await this.services.ends.wait(this.attempt.journal, { approvals, questions }, events);
    throw new RunWaits();
  }

  /** What watchers read of a call of `name` about which people are asked: no secrets, and the page on which to decide. */
  private wordsOn(approvalId: string, name: string, { input }: PlannedCall) {
    const { wording } = this.services;
    const shown = wording.inputOf({ subject_kind: 'run_tool_call', tool: name, input });
    return { summary: wording.of(name).summary, link: wording.linkTo(approvalId), input: shown };
  }

  /** Throws AuthorityLost where who started the run may not see its chat any more. */
  private async call(
    call: OpenCall,
    handOver: () => Promise<ToolResult | 'waits'>,
  ): Promise<CallOutcome | 'waits'> {
    const { tools } = this;
    const { callId, tool, input, step, position } = call;
    const onOutput = (text: string) => this.attempt.deltas.add('tool.output', text, { id: callId });
    const place = { step, position };
    const hooks = {
      place,
      signal: this.attempt.signal,
      yieldSignal: this.attempt.journal.steering.signal,
      onOutput,
      handOver,
    };
    await this.services.authority.requireAccess(this.attempt.run);
    const result = await tools.call(tool, input, hooks);
    if (result === 'waits') return result;
    // Killed because we stop: that is no result; the next attempt gives it the result that it was interrupted.
    this.attempt.signal.throwIfAborted();
    return { ...(await this.services.results.fit(this.attempt.run, call, result)), hasRun: true };
  }
}
