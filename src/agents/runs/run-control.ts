import { Injectable, OnModuleInit } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { defineEvent, Events } from '../../platform/events/index.js';
import { FeatureEnds } from '../../workspaces/core/index.js';
import { ApprovalsStore, approvalResolved, approvalResolving } from '../approvals/index.js';
import { QuestionsStore, questionClosed, questionClosing } from '../questions/index.js';
import { type RunJournal, RunJournals } from './run-journal.js';
import { RunQueue } from './run-queue.store.js';
import type { RunEnd } from './run-rows.store.js';
import { approvalResolvedEvent, questionClosedEvent, type RunFault, RunLost } from './run-state.js';
import { RunWriter } from './run-writer.store.js';
import { RunsStore } from './runs.store.js';
import { TasksStore } from './tasks.store.js';

/** A run has ended in error, other than by who stopped it. */
export const runFailed = defineEvent<{ run_id: string }>('run.failed');

/** A run that took long has completed while no client watched. */
export const runFinished = defineEvent<{ run_id: string }>('run.finished');

const PLANNED_CALL = 'Not run: the run was stopped.';

/**
 * Ends runs. On demand, the end is written at once, as a newer attempt: the worker that has the run loses its claim, kills
 * what it runs for it and can write no more. So a run stops also when its worker is dead or stuck.
 */
@Injectable()
export class RunStopper {
  constructor(
    private readonly database: Database,
    private readonly runs: RunsStore,
    private readonly tasks: TasksStore,
    private readonly writer: RunWriter,
    private readonly queue: RunQueue,
    private readonly journals: RunJournals,
    private readonly events: Events,
  ) {}

  /** Stops those of the runs that have not ended, and makes the chat's next run runnable; answers which they were. */
  stop(chatId: string, runIds: readonly string[]): Promise<{ stopped: string[] }> {
    return this.database.transaction(async unit =>
      unit.answers({ stopped: await this.stopWithin(unit, chatId, runIds) }),
    );
  }

  /** As {@link stop}, in a transaction that does more; answers which had not ended. The chat is locked first. */
  async stopWithin(unit: UnitOfWork, chatId: string, runIds: readonly string[]): Promise<string[]> {
    await this.writer.lockChat(unit, chatId);
    const [head] = await this.runs.pending(chatId, unit);
    const stopped: string[] = [];
    for (const id of runIds) await this.writer.lockRunsAbove(unit, id);
    for (const id of runIds) if (await this.end(unit, id)) stopped.push(id);
    if (head && stopped.includes(head.id)) await this.queue.enqueueNext(unit, chatId);
    return stopped;
  }

  /** Ends one run, in a transaction that has locked its chat and lets the next one go; says whether it had not ended. */
  async end(unit: UnitOfWork, id: string): Promise<boolean> {
    const run = await this.writer.cancel(unit, id);
    if (!run) return false;
    const response = await this.writer.keepCutOff(unit, run);
    await this.finish(unit, run, { status: 'completed', stopReason: 'stopped', response }, PLANNED_CALL);
    return true;
  }

  /** As {@link end}, for a run that has failed while no worker had it. */
  async fail(unit: UnitOfWork, id: string, fault: RunFault): Promise<void> {
    const run = await this.writer.cancel(unit, id);
    if (run)
      await this.finish(unit, run, { status: 'error', fault, response: null }, `Not run: ${fault.message}.`);
  }

  private async finish(
    unit: UnitOfWork,
    run: RunJournal['run'],
    end: RunEnd,
    ofPlanned: string,
  ): Promise<void> {
    await this.writer.closeCalls(unit, run.id, ofPlanned);
    await this.writer.withdrawAsked(unit, run.id);
    await this.journals.of(run).end(unit, end);
    await this.stopTasks(unit, run.id);
  }

  /** Tasks end with the run above them, without which they are for nothing. */
  private async stopTasks(unit: UnitOfWork, runId: string): Promise<void> {
    for (const id of await this.tasks.pending(runId, unit)) await this.end(unit, id);
  }

  /** Ends the run of an attempt, in a transaction that has locked its chat; the chat's next run becomes runnable. */
  async complete(unit: UnitOfWork, journal: RunJournal, end: RunEnd): Promise<void> {
    const { id, chat_id } = journal.run;
    await journal.end(unit, end);
    if (end.status === 'error') await this.events.publish(unit, runFailed, { run_id: id });
    await this.queue.enqueueNext(unit, chat_id);
    await this.stopTasks(unit, id);
  }

  /** As {@link complete}, in a transaction of its own; with `keepsCutOff`, what it had said by then is its response. */
  completeNow(journal: RunJournal, end: RunEnd, { keepsCutOff = false } = {}): Promise<void> {
    return this.database.transaction(async unit => {
      const { run } = journal;
      await this.writer.lockChat(unit, run.chat_id);
      const said = keepsCutOff && (await this.writer.keepCutOff(unit, run));
      await this.complete(unit, journal, said ? { ...end, response: said } : end);
    });
  }

  /** Ends a run that has not begun as withdrawn; the next may go if it was its turn. Says whether it had not begun. */
  async withdraw(unit: UnitOfWork, id: string): Promise<boolean> {
    const run = await this.runs.find(id, unit);
    if (run?.status !== 'pending' || run.attempt > 0 || run.merged_into) return false;
    const [head] = await this.runs.pending(run.chat_id, unit);
    const journal = this.journals.of({ ...run, attempt: 0 });
    try {
      await journal.end(unit, { status: 'completed', stopReason: 'withdrawn', response: '' });
    } catch (error) {
      // A worker has claimed it since we looked.
      if (error instanceof RunLost) return false;
      throw error;
    }
    if (head?.id === id) await this.queue.enqueueNext(unit, run.chat_id);
    return true;
  }
}

/** Stops the runs of a workspace when its agents are turned off. */
@Injectable()
export class AgentsOff implements OnModuleInit {
  constructor(
    private readonly features: FeatureEnds,
    private readonly runs: RunsStore,
    private readonly stopper: RunStopper,
  ) {}

  onModuleInit(): void {
    this.features.add('agents', async workspaceId => {
      for (const { chat_id, ids } of await this.runs.pendingIn(workspaceId))
        await this.stopper.stop(chat_id, ids);
    });
  }
}

/** What becomes of runs when approvals are resolved, and when questions are answered. */
@Injectable()
export class RunApprovals implements OnModuleInit {
  constructor(
    private readonly events: Events,
    private readonly approvals: ApprovalsStore,
    private readonly questions: QuestionsStore,
    private readonly tasks: TasksStore,
    private readonly writer: RunWriter,
    private readonly queue: RunQueue,
    private readonly stopper: RunStopper,
  ) {}

  onModuleInit(): void {
    this.events.on(approvalResolving, async (unit, { run_id }) => {
      if (run_id) await this.writer.lockRunsAbove(unit, run_id);
    });
    this.events.on(questionClosing, (unit, { run_id }) => this.writer.lockRunsAbove(unit, run_id));
    this.events.on(questionClosed, async (unit, { question_id }) => {
      const row = await this.questions.find(question_id, unit);
      if (!row) return;
      await this.writer.append(unit, row.run_id, [questionClosedEvent(row)]);
      await this.resume(unit, row.run_id);
    });
    this.events.on(approvalResolved, (unit, { approval_id }) => this.resolved(unit, approval_id));
  }

  /** A message comes in instead of decisions, with which a run that waits goes on; with `below`, its tasks that wait do. */
  async cancelFor(unit: UnitOfWork, runId: string, { below = false } = {}): Promise<void> {
    for (const id of below ? await this.tasks.waitingBelow(unit, runId) : [runId]) {
      await this.writer.withdrawAsked(unit, id);
      await this.resume(unit, id);
    }
  }

  private async resolved(unit: UnitOfWork, id: string): Promise<void> {
    const row = await this.approvals.find(id, unit);
    if (!row?.run_id || !row.chat_id) return;
    const { run_id: runId, chat_id: chatId, tool } = row;
    const others = row.scope === 'run' ? await this.approvals.allowOthers(unit, row) : [];
    await this.writer.append(unit, runId, [row, ...others].map(approvalResolvedEvent));
    if (row.status !== 'expired') return this.resume(unit, runId);
    const message = `Nobody approved the call of ${tool} in time, so it was not made`;
    await this.stopper.fail(unit, runId, { type: 'approval_expired', message });
    await this.queue.enqueueNext(unit, chatId);
  }

  private async resume(unit: UnitOfWork, runId: string): Promise<void> {
    if (await this.writer.resume(unit, runId)) await this.queue.enqueue(unit, runId);
  }
}
