import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database, isOutage, type UnitOfWork } from '../../platform/database/index.js';
import { Log, withLogContext } from '../../platform/log/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import { AttachmentsStore } from '../attachments/index.js';
import { MessagesStore } from '../chats/index.js';
import { Compactor, Conversation } from '../context/index.js';
import { ResponseSchemas } from '../models/index.js';
import {
  type CarriedRun,
  RunAuthority,
  RunExecutor,
  type RunFault,
  RunHold,
  RunJournal,
  RunLost,
  RunQueue,
  RunStopper,
  RunsStore,
  runTopic,
  Steering,
  SteersStore,
  type TakenRun,
  TasksStore,
} from '../runs/index.js';
import { type TaskPause, TaskStarter } from '../tasks/index.js';
import { StepCaller } from './model-calls.js';
import { type Above, RunAttempt, RunParts } from './run-attempt.js';
import { faultOf, RunWaits, TooManyLost } from './run-fault.js';
import { ToolGateway } from './tool-gateway.js';

/** A run over which this many workers were lost is not given a further one. */
const MOST_LOST = 5;
const FIRST_PAUSE_MS = 250;
const MOST_PAUSE_MS = 5_000;

/** Under what a run is carried. */
interface Carriage {
  /** Aborted when the process is told to stop. */
  readonly stopping: AbortSignal;
  /** Of a task. */
  readonly above?: Above;
}

/** Carries runs to their end, from wherever an earlier worker left them. */
@Injectable()
export class RunLoop {
  private readonly parts: RunParts;

  constructor(
    database: Database,
    private readonly runs: RunsStore,
    steers: SteersStore,
    private readonly queue: RunQueue,
    messages: MessagesStore,
    steps: StepCaller,
    compactor: Compactor,
    attachments: AttachmentsStore,
    tools: ToolGateway,
    private readonly authority: RunAuthority,
    private readonly tasks: TasksStore,
    taskStarter: TaskStarter,
    stopper: RunStopper,
    schemas: ResponseSchemas,
    private readonly topics: Topics,
    executor: RunExecutor,
    config: Config,
    private readonly log: Log,
  ) {
    executor.register((run, stopping) => this.carry(run, stopping));
    const { runMaxSteps: mostSteps, runTasksAtOnce: tasksAtOnce } = config;
    const stores = { database, runs, steers, messages };
    this.parts = {
      ...stores,
      steps,
      compactor,
      attachments,
      tools,
      taskStarter,
      stopper,
      schemas,
      mostSteps,
      tasksAtOnce,
      tasks,
      topics,
      log,
    };
  }

  /**
   * Works until the run has ended, or until `stopping` is aborted: then the run goes back to the queue as it is. Where
   * the database is lost on the way it begins a new attempt when the database is back.
   */
  carry(taken: TakenRun, stopping: AbortSignal): Promise<void> {
    return this.carryUnder(taken.id, { stopping }, taken);
  }

  /** Until the task has ended, or all that the run above does is wait for people. */
  private async carryTask(
    taskId: string,
    carriage: Required<Carriage>,
    pause: TaskPause,
  ): Promise<'ended' | 'waits'> {
    const { signal } = carriage.above;
    const wakeUp = new Subscription(this.topics, runTopic(taskId));
    try {
      while (!signal.aborted) {
        await this.carryUnder(taskId, carriage);
        if (signal.aborted || (await this.runs.find(taskId))?.status !== 'pending') break;
        pause.rest();
        await wakeUp.wait(AbortSignal.any([signal, pause.signal]));
        if (signal.aborted) break;
        if (pause.signal.aborted) return 'waits';
        await pause.resume();
      }
      return 'ended';
    } finally {
      wakeUp.close();
    }
  }

  private async carryUnder(runId: string, carriage: Carriage, taken?: TakenRun): Promise<void> {
    const over = carriage.above?.signal ?? carriage.stopping;
    let run = taken;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MOST_PAUSE_MS)) {
      try {
        run ??= carriage.above ? await this.queue.takeTask(runId) : await this.queue.retake(runId);
        if (run) await this.attempt(run, carriage);
        return;
      } catch (error) {
        if (over.aborted) throw error;
        this.log.warn({ err: error, pause_ms: pause }, 'run: cannot be written down; trying again');
      }
      run = undefined;
      await sleep(pause, undefined, { signal: over });
    }
  }

  private attempt(run: TakenRun, carriage: Carriage): Promise<void> {
    const context = { run_id: run.id, workspace_id: run.workspace_id ?? undefined };
    return withLogContext(context, () => this.work(run, carriage));
  }

  private async work(run: TakenRun, carriage: Carriage): Promise<void> {
    const { stopping, above } = carriage;
    const { id, chat_id: chatId, number, attempt } = run;
    const own = { id, chatId, number, attempt };
    const steering = new Steering(above?.steering);
    const conversation = new Conversation(this.parts.messages, run, run.said);
    const journal = new RunJournal(this.parts.database, this.topics, own, steering, conversation);
    journal.note(run);
    const hold = new RunHold(this.runs, this.topics, run, journal.steering, this.authority);
    try {
      if (run.lost >= MOST_LOST) throw new TooManyLost(run.lost);
      await this.authority.require(run);
      await new RunAttempt(this.parts, run, journal, {
        conversation,
        hold: AbortSignal.any([above?.signal ?? stopping, hold.signal, this.queue.signal]),
        above: above?.limits,
        spentOnTasks: run.attempt > 1 ? await this.tasks.spent(run.id) : undefined,
        carryTask: (task, under, pause) => this.carryTask(task, { stopping, above: under }, pause),
      }).toTheEnd();
    } catch (error) {
      await this.afterFault(run, journal, error, carriage);
    } finally {
      hold.release();
    }
  }

  /** Throws where the run can be neither ended nor given to somebody else now. */
  private async afterFault(
    run: CarriedRun,
    journal: RunJournal,
    error: unknown,
    { stopping, above }: Carriage,
  ): Promise<void> {
    if (error instanceof RunLost) return this.log.info({}, 'run: gone, or left to another worker');
    if (error instanceof RunWaits) return this.log.info({}, 'run: waits for an approval');
    if (stopping.aborted) {
      await this.queue.handBack(run);
      return this.log.info({}, 'run: handed back to the queue');
    }
    // The end of the run above, or its next attempt, decides what becomes of a task.
    if (above?.signal.aborted) return;
    const fault = faultOf(error);
    if (fault.type === 'internal' && isOutage(error)) throw error;
    if (fault.type === 'internal') this.log.error({ err: error }, 'run: failed by a fault of ours');
    try {
      await this.parts.database.transaction(unit => this.fail(unit, run, journal, fault));
    } catch (failure) {
      if (!(failure instanceof RunLost)) throw failure;
    }
  }

  /** What it had said by then is kept, as that of a run that is stopped. */
  private async fail(unit: UnitOfWork, run: CarriedRun, journal: RunJournal, fault: RunFault): Promise<void> {
    const { stopper } = this.parts;
    await this.runs.lockChat(unit, run.chat_id);
    const response = (await stopper.saidSoFar(unit, run)) || null;
    await this.runs.endIn(unit, journal, { status: 'error', fault, response });
    await stopper.stopTasks(unit, run.id);
  }
}
