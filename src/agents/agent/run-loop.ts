import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { Database } from '../../platform/database/database.js';
import { isOutage } from '../../platform/database/outage.js';
import type { Row } from '../../platform/database/rows.js';
import { Log, withLogContext } from '../../platform/log/log.js';
import { Signals } from '../../platform/signals/signals.js';
import { MessagesStore } from '../chats/messages.store.js';
import { Compactor } from '../context/compactor.js';
import type { Run } from './run.entity.js';
import { RunAttempt, RunParts } from './run-attempt.js';
import { RunAuthority } from './run-authority.js';
import { faultOf, TooManyLost } from './run-fault.js';
import { RunHold } from './run-hold.js';
import { RunJournal, RunLost } from './run-journal.js';
import { RunQueue } from './run-queue.js';
import { RunsStore } from './runs.store.js';
import { SteersStore } from './steers.store.js';
import { StepCaller } from './step-caller.js';
import { ToolGateway } from './tool-gateway.js';

/** A run over which this many workers were lost is not given a further one. */
const MOST_LOST = 5;
const FIRST_PAUSE_MS = 250;
const MOST_PAUSE_MS = 5_000;

/** Carries runs to their end, from wherever an earlier worker left them. */
@Injectable()
export class RunLoop {
  private readonly parts: RunParts;

  constructor(
    @Inject(Database) database: Database,
    @Inject(RunsStore) private readonly runs: RunsStore,
    @Inject(SteersStore) steers: SteersStore,
    @Inject(RunQueue) private readonly queue: RunQueue,
    @Inject(MessagesStore) messages: MessagesStore,
    @Inject(StepCaller) steps: StepCaller,
    @Inject(Compactor) compactor: Compactor,
    @Inject(ToolGateway) tools: ToolGateway,
    @Inject(RunAuthority) private readonly authority: RunAuthority,
    @Inject(Signals) private readonly signals: Signals,
    @Inject(Config) config: Config,
    @Inject(Log) private readonly log: Log,
  ) {
    this.parts = { database, runs, steers, messages, steps, compactor, tools, mostSteps: config.runMaxSteps };
  }

  /**
   * Works until the run has ended, or until `stopping` is aborted: then the run goes back to the queue as it is. Where
   * the database is lost on the way it begins a new attempt when the database is back.
   */
  async carry(taken: Row<Run>, stopping: AbortSignal): Promise<void> {
    let run: Row<Run> | undefined = taken;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MOST_PAUSE_MS)) {
      try {
        run ??= await this.queue.retake(taken.id);
        if (run) await this.attempt(run, stopping);
        return;
      } catch (error) {
        if (stopping.aborted) throw error;
        this.log.warn({ err: error, pause_ms: pause }, 'run: cannot be written down; trying again');
      }
      run = undefined;
      await sleep(pause, undefined, { signal: stopping });
    }
  }

  private attempt(run: Row<Run>, stopping: AbortSignal): Promise<void> {
    return withLogContext({ workspace_id: run.workspace_id ?? undefined }, () => this.work(run, stopping));
  }

  private async work(run: Row<Run>, stopping: AbortSignal): Promise<void> {
    const { id, chat_id: chatId, number, attempt } = run;
    const journal = new RunJournal(this.parts.database, this.signals, { id, chatId, number, attempt });
    journal.steering.note(run.steers);
    const hold = new RunHold(this.runs, this.signals, run, journal.steering, this.authority);
    try {
      if (run.lost >= MOST_LOST) throw new TooManyLost(run.lost);
      await this.authority.require(run);
      await new RunAttempt(this.parts, run, journal, AbortSignal.any([stopping, hold.signal])).toTheEnd();
    } catch (error) {
      await this.afterFault(run, journal, error, stopping);
    } finally {
      hold.release();
    }
  }

  /** Throws where the run can be neither ended nor given to somebody else now. */
  private async afterFault(
    run: Row<Run>,
    journal: RunJournal,
    error: unknown,
    stopping: AbortSignal,
  ): Promise<void> {
    if (error instanceof RunLost) return this.log.info({}, 'run: gone, or left to another worker');
    if (stopping.aborted) {
      await this.queue.handBack(run);
      return this.log.info({}, 'run: handed back to the queue');
    }
    const fault = faultOf(error);
    if (fault.type === 'internal' && isOutage(error)) throw error;
    if (fault.type === 'internal') this.log.error({ err: error }, 'run: failed by a fault of ours');
    try {
      await this.runs.end(run.chat_id, journal, { status: 'error', fault, response: null });
    } catch (failure) {
      if (!(failure instanceof RunLost)) throw failure;
    }
  }
}
