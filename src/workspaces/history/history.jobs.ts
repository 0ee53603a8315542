import { Processor } from '@nestjs/bullmq';
import { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { JobProcessor } from '../../platform/jobs/index.js';
import { Maintenance } from '../../platform/maintenance/index.js';
import { GitStore } from './git-store.js';
import { HistoryCapture } from './history-capture.js';
import { HISTORY_QUEUE, HistoryKeeper } from './history-keeper.js';
import { HistoryTrim } from './history-trim.js';

const CATCH_UP_MS = 60_000;
const TRIM_MS = 3_600_000;

/** Brings histories up to date in the background, and keeps them from growing for ever. */
@Processor(HISTORY_QUEUE, { lockDuration: 60_000, concurrency: 2 })
export class HistoryJobs
  extends JobProcessor<{ workspace_id: string }>
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown
{
  private starting: Promise<void> | undefined;

  constructor(
    private readonly config: Config,
    private readonly maintenance: Maintenance,
    private readonly git: GitStore,
    private readonly capture: HistoryCapture,
    private readonly keeper: HistoryKeeper,
    private readonly trim: HistoryTrim,
  ) {
    super();
  }

  onModuleInit(): void {
    this.maintenance.every(CATCH_UP_MS, 'catch_up_histories', () => this.catchUp());
    this.maintenance.every(TRIM_MS, 'trim_histories', () => this.trim.due());
  }

  /** What an earlier process left behind is not waited for. */
  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.starting = this.begin().catch((error: unknown) =>
      this.log.warn({ err: error }, 'histories are behind until a chore looks'),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.starting;
  }

  protected async perform({ workspace_id }: { workspace_id: string }): Promise<undefined> {
    if ((await this.git.fault()) === null) await this.capture.upToDate(workspace_id);
  }

  private async begin(): Promise<void> {
    const fault = await this.git.fault();
    if (fault === null) await this.catchUp();
    else this.log.warn({}, fault);
  }

  private async catchUp(): Promise<void> {
    for (const id of await this.trim.behind()) await this.keeper.enqueue(id);
  }
}
