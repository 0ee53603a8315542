import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { storableText } from '#libs/fields/index.js';
import { enterModelCall, enterToolCall, freeReservation } from '../../identity/billing/index.js';
import { revokeTokensOf } from '../../platform/actions/index.js';
import { Database, databaseTime, type UnitOfWork } from '../../platform/database/index.js';
import { Topics } from '../../platform/topics/index.js';
import type { JoinedWrite } from '../../workspaces/changes/index.js';
import { type AskedCall, approvalAsked, approvalRows } from '../approvals/index.js';
import { type AttachmentPart, keepAttachments, type NewAttachment } from '../attachments/index.js';
import {
  type ChatSummary,
  Conversation,
  keepSummary,
  type MessagePart,
  MessagesStore,
} from '../chats/index.js';
import { planRow } from '../plans/index.js';
import { type NewQuestion, questionAsked, questionRows } from '../questions/index.js';
import type { ToolResult } from '../tools/index.js';
import { RunEventTail } from './run-event-tail.js';
import { type NewTask, taskRows } from './run-intake.store.js';
import { Steering } from './run-limits.js';
import type { ClaimedRun } from './run-queue.store.js';
import {
  ending,
  FENCED,
  FencedWriter,
  type FinishedStep,
  finishing,
  NEXT_RUNNABLE,
  type RunEnd,
  type RunSums,
  startedRows,
  sumsRow,
  transition,
  withUsage,
} from './run-rows.store.js';
import { endTopic, type NewEvent, NO_USAGE, type PlannedCall, type RunRow } from './run-state.js';

const TOKENS_REVOKED = revokeTokensOf(FENCED);

const WAITING = sql`${transition('wait').set}, waiting_since = now(), due = false, holder = null`;

/** What became of a call: `hasRun` where its tool was at work, `write` is left to be recorded with it. */
export interface CallOutcome extends ToolResult {
  readonly hasRun?: boolean;
  readonly write?: JoinedWrite;
  /** The images that it gave, to be kept. */
  readonly shown?: { readonly workspaceId: string; readonly attachments: readonly NewAttachment[] };
}

/** What people are asked: about calls, and by calls. */
export interface Asked {
  readonly approvals: readonly AskedCall[];
  readonly questions: readonly NewQuestion[];
}

type JournalRun = Pick<RunRow, 'id' | 'chat_id' | 'number' | 'attempt'>;

/** Opens the journals of attempts. */
@Injectable()
export class RunJournals {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly messages: MessagesStore,
    private readonly tail: RunEventTail,
  ) {}

  /** Of a run that was just claimed; `above` is the steering of the run above it. */
  open(run: ClaimedRun, above?: Steering): RunJournal {
    const { usage, cost_usd: costUsd, step_count: steps } = run;
    const journal = this.of(run, new Steering(above), run.said, { usage, costUsd, steps });
    journal.note(run);
    return journal;
  }

  of(run: JournalRun, steering?: Steering, said?: MessagePart[] | null, sums?: RunSums): RunJournal {
    const conversation = new Conversation(this.messages, run, said);
    return new RunJournal(this.database, this.topics, this.tail, run, conversation, steering, sums);
  }
}

/** Writes down what happens in one attempt at a run. Each method is one statement. */
export class RunJournal extends FencedWriter {
  constructor(
    database: Database,
    topics: Topics,
    tail: RunEventTail,
    run: JournalRun,
    /** What was said so far; it learns what is written. */
    readonly conversation: Conversation,
    steering?: Steering,
    private sums: RunSums = { usage: NO_USAGE, costUsd: null, steps: 0 },
  ) {
    super(database, topics, tail, run, steering);
  }

  databaseTime(): Promise<Date> {
    return databaseTime(this.database);
  }

  async append(events: NewEvent[], unit?: UnitOfWork): Promise<void> {
    await this.record(events, { precedesModelCall: false, unit });
  }

  private used(sums: RunSums): void {
    this.sums = sums;
  }

  private sumsWith({ number, result: { usage }, costUsd }: FinishedStep): RunSums {
    return { ...withUsage(this.sums, usage, costUsd), steps: number };
  }

  /** The model has answered: its message, its usage and the calls it asks for. */
  async finishStep(step: FinishedStep, events: NewEvent[], unit?: UnitOfWork): Promise<void> {
    const { number, model, calls } = step;
    const sums = this.sumsWith(step);
    const written = {
      ...finishing(step, sums, this.isHeld),
      says: true,
      precedesModelCall: calls.length === 0,
    };
    const { content } = await this.record(events, { ...written, unit });
    if (unit) unit.afterCommit(() => this.used(sums));
    else this.used(sums);
    if (unit || !content) this.conversation.forget();
    else this.conversation.answered({ step: number, model, content, calls });
  }

  /** Older messages have a summary from now on; what it cost counts like any other model call, once. */
  async compacted(summary: ChatSummary, events: NewEvent[]): Promise<void> {
    const { usage, costUsd, model } = summary;
    const paid = usage && model !== null ? { step: null, model, usage, costUsd, isHeld: this.isHeld } : null;
    const sums = paid ? withUsage(this.sums, paid.usage, costUsd) : this.sums;
    await this.record(events, {
      change: paid ? sumsRow(sums) : undefined,
      also: [keepSummary(FENCED, summary), ...(paid ? enterModelCall(FENCED, paid) : [])],
    });
    this.used(sums);
    this.conversation.forget();
  }

  /** A call that was planned is made now. */
  async startCall(call: PlannedCall, events: NewEvent[]): Promise<void> {
    await this.record(events, { also: [startedRows([call])], precedesModelCall: false });
  }

  /**
   * People are asked about calls, or what calls ask, none of which has been made: the run waits, and no worker has it
   * meanwhile.
   */
  async wait({ approvals, questions }: Asked, events: NewEvent[], unit: UnitOfWork): Promise<void> {
    const also = [];
    if (approvals.length > 0) also.push(approvalRows(FENCED, approvals));
    if (questions.length > 0) also.push(questionRows(FENCED, questions));
    await this.record(events, { change: WAITING, also, unit });
    this.topics.publishAfterCommit(unit, approvalAsked, questionAsked);
  }

  /**
   * All that is left of the run are tasks that wait for people: it waits with them. False, and nothing is done, where one of
   * them may go on by now.
   */
  waitForTasks(): Promise<boolean> {
    const { id } = this.run;
    const tasks = sql`select from run c where c.parent_id = ${id} and c.status = 'pending'`;
    const where = sql`exists (${tasks}) and not exists (${tasks} and c.state <> 'waiting')`;
    return this.database.transaction(async unit => {
      // Resuming a task locks the run above it first, so each sees the other, whichever comes second.
      await sql`select from run where id = ${id} for update`.execute(unit.tables());
      return (await this.write([], { change: WAITING, where, unit })) !== undefined;
    });
  }

  /**
   * A call has given its result, and may have left a write to be recorded with it; the calls of `next` count as started from
   * now on.
   */
  async finishCall(
    call: PlannedCall,
    { output, isError, plan, seen, shown, hasRun = false, write }: CallOutcome,
    events: NewEvent[],
    next: readonly PlannedCall[] = [],
  ): Promise<void> {
    const images = shown?.attachments.map(({ part }) => part) ?? [];
    const finished = sql`finished as (
      update tool_call c set state = 'finished', output = ${storableText(output)}, is_error = ${isError}, files = ${filesOf(seen)}::jsonb,
        images = ${imagesOf(images)}::jsonb, finished_at = now()
      from fenced where c.run_id = fenced.id and c.step = ${call.step} and c.position = ${call.position}
      returning c.step, c.position, c.started_at)`;
    const also = [finished];
    if (hasRun) also.push(enterToolCall(FENCED, sql`finished`));
    if (shown && images.length > 0)
      also.push(
        keepAttachments(sql`(select chat_id as id from fenced)`, shown.workspaceId, shown.attachments),
      );
    if (plan) also.push(planRow(FENCED, plan));
    if (next.length > 0) also.push(startedRows(next));
    const joined = write?.join();
    if (!joined) await write?.settle();
    let recorded: boolean | undefined;
    try {
      ({ recorded } = await this.record(events, { also, joined }));
    } finally {
      if (joined) await write?.told(recorded === true);
    }
    this.conversation.finished(call, { output, isError, images });
  }

  /** A call hands over a task, which is announced with the call's output. */
  async startTask({ callId }: PlannedCall, task: NewTask, unit: UnitOfWork): Promise<void> {
    const text = `${task.chat.agent_name}: ${task.chat.title}\n`;
    const data = { id: callId, text, task_call_id: task.run.callId };
    await this.record([{ type: 'tool.output', data }], { also: taskRows(FENCED, task), unit });
  }

  /** Messages that waited have entered the run. */
  async merged(events: NewEvent[], unit: UnitOfWork): Promise<void> {
    await this.record(events, { change: sql`steers = 0`, unit });
    this.conversation.forget();
  }

  /**
   * Writes the end of the run, and of those whose messages it took in, once; its tokens are void. `unit` also lets the
   * chat's next run go.
   */
  async end(unit: UnitOfWork, end: RunEnd): Promise<void> {
    const { id } = this.run;
    const { event, change, also } = ending(id, end);
    await this.record([event], {
      change,
      also: [freeReservation(FENCED), TOKENS_REVOKED, ...also],
      unit,
    });
    this.topics.publishAfterCommit(unit, endTopic(id));
  }

  /**
   * The last step and the end in one: the tokens of the run are void, and the chat's next run may go, whose id is returned
   * where there is one. False, and nothing is done, where a message waits to enter the run, or it has started tasks that end with it; `unit` has locked the chat.
   */
  async finish(
    unit: UnitOfWork,
    step: FinishedStep,
    events: NewEvent[],
    end: RunEnd,
  ): Promise<{ nextId: string | null } | false> {
    const { id } = this.run;
    const { event, change, also } = ending(id, end);
    const finished = finishing(step, this.sumsWith(step), this.isHeld);
    const done = await this.write([...events, event], {
      change: sql`${finished.change}, ${change}`,
      where: sql`steers = 0 and requested_tasks = 0`,
      also: [...finished.also, ...also, TOKENS_REVOKED, NEXT_RUNNABLE],
      next: sql`(select id from next)`,
      precedesModelCall: false,
      unit,
    });
    if (!done) return false;
    this.topics.publishAfterCommit(unit, endTopic(id));
    return { nextId: done.next_id };
  }

  /**
   * As {@link finish}, in a statement of its own, for a run that nothing waits behind. False, and nothing is done, where
   * that is not certain: then the chat has to be locked first.
   */
  async finishAlone(step: FinishedStep, events: NewEvent[], end: RunEnd): Promise<boolean> {
    const { id, chat_id } = this.run;
    const { event, change } = ending(id, end);
    const finished = finishing(step, this.sumsWith(step), this.isHeld);
    const writing = {
      change: sql`${finished.change}, ${change}`,
      // Whatever comes to wait changes the chat's row first: of another version of it, what this statement sees may be old.
      first: sql`held as (
        select c.id from chat c
        where c.id = ${chat_id} and c.xmin = (select seen.xmin from chat seen where seen.id = ${chat_id})
          and not exists (select from run r where r.chat_id = ${chat_id} and r.id <> ${id} and r.status = 'pending')
        for update of c skip locked),`,
      where: sql`steers = 0 and requested_tasks = 0 and exists (select from held)`,
      also: [...finished.also, TOKENS_REVOKED],
      precedesModelCall: false,
    };
    const done = await this.topics.publishBy(endTopic(id), told =>
      this.write([...events, event], { ...writing, told }),
    );
    return done !== undefined;
  }
}

/** As the column has them; most calls know none. */
const filesOf = (seen: ToolResult['seen']): string | null =>
  seen && seen.length > 0 ? JSON.stringify(seen) : null;

/** Null for most calls, which show nothing. */
const imagesOf = (images: readonly AttachmentPart[]): string | null =>
  images.length > 0 ? JSON.stringify(images) : null;
