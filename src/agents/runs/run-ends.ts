import { Injectable } from '@nestjs/common';
import type { ResponseCheck } from '#libs/bounded-schema/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Events } from '../../platform/events/index.js';
import { approvalOpened } from '../approvals/index.js';
import { MAX_REPAIRS, schemaFailed } from '../models/index.js';
import { questionOpened } from '../questions/index.js';
import type { RunAttempt } from './run-attempt.js';
import { RunStopper, runFinished } from './run-control.js';
import { type Asked, type RunJournal } from './run-journal.js';
import { type ReachedLimit } from './run-limits.js';
import { RunQueue } from './run-queue.store.js';
import type { RunEnd } from './run-rows.store.js';
import { type FinishedStep, type NewEvent, stepFinished, stepStarted } from './run-state.js';
import { RunWriter } from './run-writer.store.js';
import { RunsStore } from './runs.store.js';

/** What may keep an attempt from ending with its answer. */
interface AnswerCheck {
  readonly check: ResponseCheck | null;
  /** How often the model was told that its answer is not what was asked for. */
  readonly repairs: number;
  /** Whether a limit allows another step. */
  readonly mayGoOn: () => boolean;
}

/** How an attempt ends its run, or goes on instead. */
@Injectable()
export class RunEnds {
  constructor(
    private readonly database: Database,
    private readonly runs: RunsStore,
    private readonly writer: RunWriter,
    private readonly stopper: RunStopper,
    private readonly events: Events,
    private readonly queue: RunQueue,
  ) {}

  /** People are asked about calls of a run, or by them; it waits for them. */
  async wait(journal: RunJournal, asked: Asked, events: NewEvent[]): Promise<void> {
    await this.database.transaction(async unit => {
      await journal.wait(asked, events, unit);
      for (const { id } of asked.approvals)
        await this.events.publish(unit, approvalOpened, { approval_id: id });
      for (const { id } of asked.questions)
        await this.events.publish(unit, questionOpened, { question_id: id });
    });
  }

  /** Messages that came in since the last step go into the conversation before this one. */
  async mergeSteers(journal: RunJournal, step: number): Promise<void> {
    await this.database.transaction(async unit => {
      await this.writer.lockChat(unit, journal.run.chat_id);
      await this.writer.mergeSteers(unit, journal, step);
    });
  }

  /**
   * Writes the last step and the end of the run in one transaction, with events that were not written yet; the chat's next run
   * may begin then. Where a message waits to enter the run, and it may have another step, it goes on with that instead; and
   * where the answer is not what was asked for, the model is told so and answers again.
   */
  async endWith(
    { journal, isLong }: RunAttempt,
    step: FinishedStep,
    rest: readonly NewEvent[],
    { check, repairs, mayGoOn }: AnswerCheck,
  ): Promise<'ended' | 'steered' | 'repair'> {
    const { text: response, finish_reason } = step.result;
    const stopReason = STOP_REASONS[finish_reason] ?? 'end_turn';
    const { json, faults } = (await check?.read(response)) ?? {};
    const end: RunEnd = faults
      ? { status: 'error', fault: schemaFailed(faults), response }
      : { status: 'completed', stopReason, response, json };
    const events = [...rest, stepFinished(step)];
    const finished = { run_id: journal.run.id };
    const mayRepair = faults && repairs < MAX_REPAIRS && finish_reason !== 'content-filter';
    return this.database.transaction(async unit => {
      await this.writer.lockChat(unit, journal.run.chat_id);
      const ended = faults ? undefined : await journal.finish(unit, step, events, end);
      const run = ended ?? (await journal.addStep(unit, step, events));
      const outcome = ended
        ? 'ended'
        : await this.goOn(unit, journal, step.number + 1, mayGoOn, mayRepair && faults);
      if (ended) await this.queue.enqueueNext(unit, journal.run.chat_id);
      else if (outcome === 'ended') await this.stopper.complete(unit, journal, end);
      if (outcome === 'ended' && isLong && !faults) await this.events.publish(unit, runFinished, finished);
      await journal.enterStep(unit, run, step);
      return outcome;
    });
  }

  /** Begins another step where a message waits for it, or the answer is to be repaired. */
  private async goOn(
    unit: UnitOfWork,
    journal: RunJournal,
    next: number,
    mayGoOn: () => boolean,
    faults: readonly string[] | undefined | false,
  ): Promise<'ended' | 'steered' | 'repair'> {
    if (journal.steering.waits && mayGoOn() && (await this.writer.mergeSteers(unit, journal, next)) > 0) {
      await journal.append([stepStarted(next)], unit);
      return 'steered';
    }
    if (!faults) return 'ended';
    const data = { step: next - 1, faults };
    await journal.append([{ type: 'response.invalid', data }, stepStarted(next)], unit);
    return 'repair';
  }

  endAt(journal: RunJournal, { stopReason, text }: ReachedLimit): Promise<void> {
    const response = `Stopped: the run has reached ${text}.`;
    return this.stopper.completeNow(journal, { status: 'completed', stopReason, response });
  }

  /** A message waits to enter a run above, which goes on with it when this one has ended. */
  async yieldToSteer(journal: RunJournal): Promise<void> {
    const response = await this.runs.lastSaid(journal.run.id);
    await this.stopper.completeNow(journal, { status: 'completed', stopReason: 'yielded', response });
  }
}

const STOP_REASONS: Record<string, string> = {
  length: 'length',
  'content-filter': 'refusal',
  error: 'model_error',
};
