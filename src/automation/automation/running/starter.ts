import {
  BeforeApplicationShutdown,
  Injectable,
  OnApplicationBootstrap,
  OnModuleDestroy,
} from '@nestjs/common';
import { UNATTENDED_ENDS } from '../../../agents/runs/index.js';
import { Config } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { DrainTimer, type DueTimer, DueTimers } from '../../../platform/schedule/index.js';
import { AUTOMATION_RUNS_QUEUED, type AutomationRunRow, AutomationRunsStore } from '../records/index.js';
import { AgentWork } from './agent-work.js';
import { RunEnds } from './run-ends.js';
import { NotBegun, ScriptWork } from './script-work.js';

/** Scripts that one process runs at once, and agents that it is about to start. */
const MAX_AT_ONCE = 16;

/** Starts the runs that wait, where their lane has room, and takes up those of dead processes. */
@Injectable()
export class AutomationStarter implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly working = new Map<string, Promise<void>>();
  /** Aborted when nothing more may begin. */
  private readonly closing = new AbortController();
  /** Aborted when what has begun must end. */
  private readonly stopping = new AbortController();
  private turn: Promise<void> = Promise.resolve();
  private queued: DueTimer | undefined;
  private ended: DueTimer | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly runs: AutomationRunsStore,
    private readonly agents: AgentWork,
    private readonly scripts: ScriptWork,
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
    this.ended = this.timers.start({
      topic: UNATTENDED_ENDS,
      take: () => this.agents.settle(),
      failure: 'writing down the ends of automations failed; trying again',
    });
  }

  /** What has not begun is put back, so that another process takes it. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all([this.queued?.close(), this.ended?.close()]);
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
    const work = this.perform(run).finally(() => {
      this.working.delete(run.id);
      this.queued?.wake();
    });
    this.working.set(run.id, work);
  }

  private async perform(run: AutomationRunRow): Promise<void> {
    const signals = { closing: this.closing.signal, stopping: this.stopping.signal };
    try {
      if (run.kind === 'agent') await this.agents.start(run);
      else await this.scripts.run(run, signals);
    } catch (error) {
      const isClosing = this.closing.signal.aborted;
      if (run.kind === 'script' && !(error instanceof NotBegun)) {
        // It is taken for lost when this process is gone.
        this.log.warn({ err: error, automation_run_id: run.id }, 'the end of a script is not written down');
        return;
      }
      if (!isClosing)
        this.log.warn({ err: error, automation_run_id: run.id }, 'automation run did not begin, retrying');
      await this.database
        .transaction(unit => this.runs.putBack(unit, run.id, { isDelayed: !isClosing }))
        .catch(fault => this.log.warn({ err: fault, automation_run_id: run.id }, 'run not put back'));
    }
  }

  /** A script whose program had begun may have done anything by then: it is run again only where its file has `retries`. */
  private recover(): Promise<void> {
    return this.inTurn(async () => {
      const known = [...this.working.keys()];
      await this.database.transaction(async unit => {
        for (const run of await this.runs.recover(unit, known))
          await this.ends.end(unit, run, {
            status: 'error',
            stop_reason: 'worker_lost',
            error: 'The process that ran it was lost; what it had done by then is done',
          });
      });
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
