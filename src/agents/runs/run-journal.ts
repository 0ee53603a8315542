import { Injectable } from '@nestjs/common';
import { enterModelCall, enterToolCall, freeReservation } from '../../identity/billing/index.js';
import { ExecTokens } from '../../platform/actions/index.js';
import { Database, databaseTime, type UnitOfWork } from '../../platform/database/index.js';
import { Topics } from '../../platform/topics/index.js';
import { type AskedCall, approvalAsked, askApprovals } from '../approvals/index.js';
import { keepAttachments, type NewAttachment } from '../attachments/index.js';
import {
  type ChatSummary,
  Conversation,
  keepSummary,
  type MessagePart,
  MessagesStore,
} from '../chats/index.js';
import { setPlan } from '../plans/index.js';
import { askQuestions, type NewQuestion, questionAsked } from '../questions/index.js';
import type { ToolResult } from '../tools/index.js';
import { type Attempt, RunAttemptStore, type WrittenRun } from './run-attempt.store.js';
import { Steering } from './run-limits.js';
import type { ClaimedRun } from './run-queue.store.js';
import { type RunEnd, type RunSums, withUsage } from './run-rows.store.js';
import { type FinishedStep, type NewEvent, NO_USAGE, type PlannedCall, RunLost } from './run-state.js';

/** What became of a call; `hasRun` where its tool was at work, which counts as used. */
export interface CallOutcome extends ToolResult {
  readonly hasRun?: boolean;
  /** The images that it gave, to be kept. */
  readonly shown?: { readonly workspaceId: string; readonly attachments: readonly NewAttachment[] };
}

/** What people are asked: about calls, and by calls. */
export interface Asked {
  readonly approvals: readonly AskedCall[];
  readonly questions: readonly NewQuestion[];
}

/** Opens the journals of attempts. */
@Injectable()
export class RunJournals {
  constructor(
    readonly database: Database,
    readonly rows: RunAttemptStore,
    readonly topics: Topics,
    readonly tokens: ExecTokens,
    private readonly messages: MessagesStore,
  ) {}

  /** Of a run that was just claimed; `above` is the steering of the run above it. */
  open(run: ClaimedRun, above?: Steering): RunJournal {
    const { usage, cost_usd: costUsd, step_count: steps, steers } = run;
    const journal = this.of(run, new Steering(above), run.said, { usage, costUsd, steps });
    journal.steering.note(steers);
    return journal;
  }

  of(run: Attempt, steering?: Steering, said?: MessagePart[] | null, sums?: RunSums): RunJournal {
    return new RunJournal(this, run, new Conversation(this.messages, run, said), steering, sums);
  }
}

/**
 * Writes down what happens in one attempt at a run. Each method is one transaction, or a part of the `unit` that it is given:
 * it begins with the fence of {@link RunAttemptStore}, and throws RunLost where this attempt is not the newest any more. Topics
 * are published after the commit.
 */
export class RunJournal {
  constructor(
    private readonly services: RunJournals,
    readonly run: Attempt,
    /** What was said so far; it learns what is written. */
    readonly conversation: Conversation,
    /** Learns with each write how many messages wait to enter the run. */
    readonly steering = new Steering(),
    private sums: RunSums = { usage: NO_USAGE, costUsd: null, steps: 0 },
  ) {}

  databaseTime(): Promise<Date> {
    return databaseTime(this.services.database);
  }

  /** Whether anybody may follow the run, or its chat. */
  isWatched(): boolean {
    return this.rows.isWatched(this.run);
  }

  async append(events: readonly NewEvent[], unit?: UnitOfWork): Promise<void> {
    this.fenced(await this.rows.append(unit ?? this.services.database.statement, this.run, events));
  }

  /** The model has answered: its message, its usage and the calls it asks for. */
  finishStep(step: FinishedStep, events: readonly NewEvent[]): Promise<void> {
    return this.services.database.transaction(async unit => {
      const run = await this.writeStep(unit, step, events);
      await this.enterStep(unit, run, step);
      const { content } = run;
      const { number, model, calls } = step;
      unit.afterCommit(() => this.conversation.answered({ step: number, model, content, calls }));
    });
  }

  /** As {@link finishStep}, in a transaction that adds more to what was said, and ends with {@link enterStep}. */
  async addStep(unit: UnitOfWork, step: FinishedStep, events: readonly NewEvent[]) {
    const run = await this.writeStep(unit, step, events);
    this.conversation.forget();
    return run;
  }

  private async writeStep(unit: UnitOfWork, step: FinishedStep, events: readonly NewEvent[]) {
    return this.fenced(await this.rows.finishStep(unit, this.run, events, step, this.sumsWith(step)));
  }

  /**
   * The ledger has what a step cost. It locks what the organization has spent, so this comes last: the run's tasks enter
   * theirs while they hold their own rows, which the end of the run locks as well.
   */
  async enterStep(unit: UnitOfWork, run: WrittenRun, step: FinishedStep): Promise<void> {
    const { number, model, costUsd, result } = step;
    await enterModelCall(unit, run, { step: number, model, usage: result.usage, costUsd });
    const sums = this.sumsWith(step);
    unit.afterCommit(() => {
      this.sums = sums;
    });
  }

  /** Older messages have a summary from now on; what it cost counts like any other model call, once. */
  compacted(summary: ChatSummary, events: readonly NewEvent[]): Promise<void> {
    const { usage, costUsd, model } = summary;
    return this.services.database.transaction(async unit => {
      const isPaid = usage !== null && model !== null;
      const sums = isPaid ? withUsage(this.sums, usage, costUsd) : this.sums;
      const run = this.fenced(await this.rows.spend(unit, this.run, events, sums));
      await keepSummary(unit, run.chat_id, summary);
      if (isPaid) await enterModelCall(unit, run, { step: null, model, usage, costUsd });
      unit.afterCommit(() => {
        this.sums = sums;
        this.conversation.forget();
      });
    });
  }

  /** A call that was planned is made now. */
  async startCall(call: PlannedCall, events: readonly NewEvent[]): Promise<void> {
    const { statement } = this.services.database;
    this.fenced(await this.rows.startCalls(statement, this.run, events, [call]));
  }

  /**
   * People are asked about calls, or what calls ask, none of which has been made: the run waits, and no worker has it
   * meanwhile.
   */
  async wait({ approvals, questions }: Asked, events: readonly NewEvent[], unit: UnitOfWork): Promise<void> {
    const run = this.fenced(await this.rows.wait(unit, this.run, events));
    if (approvals.length > 0) await askApprovals(unit, run, approvals);
    if (questions.length > 0) await askQuestions(unit, run, questions);
    this.services.topics.publishAfterCommit(unit, approvalAsked, questionAsked);
  }

  /**
   * All that is left of the run are tasks that wait for people: it waits with them. False, and nothing is done, where one of
   * them may go on by now.
   */
  waitForTasks(): Promise<boolean> {
    return this.services.database.transaction(async unit => {
      // Resuming a task locks the run above it first, so each sees the other, whichever comes second.
      await this.rows.lock(unit, this.run);
      return (await this.rows.wait(unit, this.run, [], { forTasks: true })) !== undefined;
    });
  }

  /** A call has given its result; the calls of `next` count as started from now on. */
  finishCall(
    call: PlannedCall,
    { output, isError, plan, seen, shown, hasRun = false }: CallOutcome,
    events: readonly NewEvent[],
    next: readonly PlannedCall[] = [],
  ): Promise<void> {
    const images = shown?.attachments.map(({ part }) => part) ?? [];
    return this.services.database.transaction(async unit => {
      const row = { output, isError, seen, images };
      const run = this.fenced(await this.rows.finishCall(unit, this.run, events, call, row, next));
      if (hasRun) await enterToolCall(unit, run, { ...call, seconds: run.seconds ?? 0 });
      if (shown) await keepAttachments(unit, { ...shown, id: run.chat_id }, shown.attachments);
      if (plan) await setPlan(unit, run, plan);
      unit.afterCommit(() => this.conversation.finished(call, { output, isError, images }));
    });
  }

  /** Messages that waited have entered the run. */
  async merged(events: readonly NewEvent[], unit: UnitOfWork): Promise<void> {
    this.fenced(await this.rows.takeSteers(unit, this.run, events));
    this.conversation.forget();
  }

  /** Writes the end of the run, and of those whose messages it took in, once. `unit` also lets the chat's next run go. */
  async end(unit: UnitOfWork, end: RunEnd): Promise<void> {
    this.fenced(await this.rows.end(unit, this.run, [], end));
    await freeReservation(unit, this.run.id);
    await this.revokeTokens(unit);
  }

  /**
   * The last step and the end in one. Undefined, and nothing is done, where a message waits to enter the run, or it has
   * started tasks that end with it; `unit` has locked the chat, and ends with {@link enterStep}.
   */
  async finish(
    unit: UnitOfWork,
    step: FinishedStep,
    events: readonly NewEvent[],
    end: RunEnd,
  ): Promise<WrittenRun | undefined> {
    const run = await this.rows.end(unit, this.run, events, end, { step, sums: this.sumsWith(step) });
    if (run) await this.revokeTokens(unit);
    return run;
  }

  private revokeTokens(unit: UnitOfWork): Promise<void> {
    return this.services.tokens.revokeFor(unit, { kind: 'run', id: this.run.id });
  }

  private sumsWith({ number, result: { usage }, costUsd }: FinishedStep): RunSums {
    return { ...withUsage(this.sums, usage, costUsd), steps: number };
  }

  private fenced<R extends WrittenRun>(run: R | undefined): R {
    if (!run) throw new RunLost();
    this.steering.note(run.steers);
    return run;
  }

  private get rows(): RunAttemptStore {
    return this.services.rows;
  }
}
