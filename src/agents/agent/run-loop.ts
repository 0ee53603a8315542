import { Inject, Injectable } from '@nestjs/common';
import { ModelError } from '#libs/model-client/index.js';
import { Config } from '../../platform/config/config.js';
import { Database } from '../../platform/database/database.js';
import type { Row } from '../../platform/database/rows.js';
import { problemOf } from '../../platform/http/problem.js';
import { Log, withLogContext } from '../../platform/log/log.js';
import { MessagesStore } from '../chats/messages.store.js';
import { RunAttempt, RunParts } from './run-attempt.js';
import type { Run, RunFault } from './run.entity.js';
import { RunJournal, RunLost } from './run-journal.js';
import { RunsStore } from './runs.store.js';
import { StepCaller } from './step-caller.js';
import { ToolGateway } from './tool-gateway.js';

/** A run that killed this many workers is not given a further one. */
const MOST_ATTEMPTS = 5;

/** Carries runs to their end, from wherever an earlier worker left them. */
@Injectable()
export class RunLoop {
  private readonly parts: RunParts;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(RunsStore) private readonly runs: RunsStore,
    @Inject(MessagesStore) messages: MessagesStore,
    @Inject(StepCaller) steps: StepCaller,
    @Inject(ToolGateway) tools: ToolGateway,
    @Inject(Config) config: Config,
    @Inject(Log) private readonly log: Log,
  ) {
    this.parts = { database, runs, messages, steps, tools, mostSteps: config.runMaxSteps };
  }

  /** Works until the run has ended, or until `handBack` is aborted: then the run goes back to the queue as it is. */
  async carry(runId: string, handBack: AbortSignal): Promise<void> {
    const run = await this.runs.claim(runId);
    if (!run) return;
    await withLogContext({ workspace_id: run.workspace_id ?? undefined }, () => this.attempt(run, handBack));
  }

  private async attempt(run: Row<Run>, handBack: AbortSignal): Promise<void> {
    const { id, chat_id: chatId, number, attempt } = run;
    const journal = new RunJournal(this.database, { id, chatId, number, attempt });
    try {
      if (attempt > MOST_ATTEMPTS) throw new TooManyAttempts(attempt - 1);
      await new RunAttempt(this.parts, run, journal, handBack).toTheEnd();
    } catch (error) {
      if (error instanceof RunLost) this.log.info({}, 'run: left to another worker');
      else if (handBack.aborted) await this.handBack(run);
      else await this.fail(run, journal, error);
    }
  }

  private async handBack(run: Row<Run>): Promise<void> {
    await this.database.transaction(unit => this.runs.enqueue(unit, run.id));
    this.log.info({}, 'run: handed back to the queue');
  }

  private async fail(run: Row<Run>, journal: RunJournal, error: unknown): Promise<void> {
    const fault = faultOf(error);
    if (fault.type === 'internal') this.log.error({ err: error }, 'run: failed by a fault of ours');
    try {
      await this.database.transaction(async unit => {
        await this.runs.lockChat(unit, run.chat_id);
        await journal.end(unit.tables(), { status: 'error', fault, response: null });
        await this.runs.enqueueNext(unit, run.chat_id);
      });
    } catch (failure) {
      if (!(failure instanceof RunLost)) throw failure;
    }
  }
}

class TooManyAttempts extends Error {
  constructor(attempts: number) {
    super(`The service stopped ${attempts} times while it worked on this run, so it was given up`);
  }
}

function faultOf(error: unknown): RunFault {
  if (error instanceof ModelError) return { message: error.message, type: `model_${error.kind}` };
  if (error instanceof TooManyAttempts) return { message: error.message, type: 'worker_lost' };
  const problem = problemOf(error);
  if (problem) return { message: problem.detail, type: 'refused' };
  return { message: 'The run failed by a fault of the service; its operator finds more in the log', type: 'internal' };
}
