import {
  BeforeApplicationShutdown,
  Injectable,
  OnApplicationBootstrap,
  OnModuleDestroy,
} from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { DrainTimer, type DueTimer, DueTimers } from '../../../platform/schedule/index.js';
import { type AutomationRunRow, AutomationRunsStore } from '../records/automation-runs.store.js';
import { AUTOMATION_RUNS_QUEUED } from '../records/automation-states.js';
import { RunEnds } from './run-ends.js';
import { RunExecution } from './run-execution.js';

/** Scripts that one process runs at once, and agents that it is about to start. */
const MAX_AT_ONCE = 16;

/** Starts the runs that wait, where their lane has room, and takes up those of dead processes. */
@Injectable()
export class AutomationRunWorker
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private readonly working = new Map<string, Promise<void>>();
  /** Aborted when nothing more may begin. */
  private readonly closing = new AbortController();
  /** Aborted when what has begun must end. */
  private readonly stopping = new AbortController();
  private turn: Promise<void> = Promise.resolve();
  private queued: DueTimer | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly runs: AutomationRunsStore,
    private readonly execution: RunExecution,
    private readonly ends: RunEnds,
    private readonly leases: Leases,
    private readonly timers: DueTimers,
    private readonly drain: DrainTimer,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.leases.recover('automation_run', () => this.recover());
    this.queued = this.timers.start({
      topic: AUTOMATION_RUNS_QUEUED,
      take: () => this.take(),
      next: () => this.runs.untilNext(),
      failure: 'starting the runs of automations failed; trying again',
    });
  }

  /** What has not begun is put back, so that another process takes it. */
  async onModuleDestroy(): Promise<void> {
    await this.queued?.close();
    this.closing.abort(new Error('The service is stopping'));
  }

  /** Scripts that run get DRAIN_SECONDS. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.working.size > 0)
      this.log.info({ automation_run_ids: [...this.working.keys()] }, 'waiting for automation runs');
    await this.drain.wait(this.working.values());
    this.stopping.abort(new Error('The service is stopping'));
    await Promise.allSettled(this.working.values());
  }

  private take(): Promise<number> {
    if (this.working.size >= MAX_AT_ONCE) return Promise.resolve(0);
    return this.inTurn(async () => {
      await this.leases.requireFresh();
      const run = await this.database.transaction(unit => this.runs.takeQueued(unit));
      if (!run) return 0;
      if (run !== 'gone') this.begin(run);
      return 1;
    });
  }

  private begin(run: AutomationRunRow): void {
    const signals = { closing: this.closing.signal, stopping: this.stopping.signal };
    const work = this.execution.execute(run, signals).finally(() => {
      this.working.delete(run.id);
      this.queued?.wake();
    });
    this.working.set(run.id, work);
  }

  private recover(): Promise<void> {
    return this.inTurn(async () => {
      await this.ends.endLost([...this.working.keys()]);
      this.queued?.wake();
    });
  }

  /** What is taken is known before it is asked what is lost. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }
}
