import {
  BeforeApplicationShutdown,
  Injectable,
  OnApplicationBootstrap,
  OnModuleDestroy,
} from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { type DueTimer, DueTimers } from '../../platform/schedule/index.js';
import { UNATTENDED_ENDS } from '../runs/index.js';
import { GradingClaims } from './grading/index.js';
import { LOOPS_DUE, LoopsStore, LoopWriter } from './records/index.js';
import { Iterations } from './running/index.js';

/** An iteration that could not begin is tried again so many seconds later. */
const RETRY_SECONDS = 10;

/**
 * Moves loops on, by what the database says of them: begins the iterations that are due, and grades those whose runs have
 * ended, also where the process that did so is gone.
 */
@Injectable()
export class LoopRunner implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private timers: DueTimer[] = [];

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly loops: LoopsStore,
    private readonly writer: LoopWriter,
    private readonly iterations: Iterations,
    private readonly claims: GradingClaims,
    private readonly leases: Leases,
    private readonly dueTimers: DueTimers,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    const due = this.dueTimers.start({
      topic: LOOPS_DUE,
      take: () => this.begin(),
      next: () => this.loops.dueIn(),
      failure: 'beginning iterations of loops failed; trying again',
    });
    const ended = this.dueTimers.start({
      topic: UNATTENDED_ENDS,
      take: () => this.claims.take(() => ended.wake()),
      next: () => this.loops.gradingDueIn(),
      failure: 'taking loops whose runs have ended failed; trying again',
    });
    this.timers = [due, ended];
    this.leases.recover('loop', async () => ended.wake());
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.timers.map(timer => timer.close()));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.claims.close();
  }

  /** Begins the iteration that is due first; how many it has looked at. */
  private async begin(): Promise<number> {
    const loop = await this.loops.due();
    if (!loop) return 0;
    try {
      await this.iterations.begin(loop);
    } catch (error) {
      // Others, which are due after it, do not wait for it.
      this.log.warn({ err: error, loop_id: loop.id }, 'an iteration did not begin; trying again');
      await this.database.transaction(unit => this.writer.postpone(unit, loop.id, RETRY_SECONDS));
    }
    return 1;
  }
}
