import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Chore, OnJob } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log/index.js';
import { GitStore } from './git-store.js';
import { HistoryCapture } from './history-capture.js';
import { captureHistory, HistoryKeeper } from './history-keeper.js';
import { HistoryTrim } from './history-trim.js';

const CATCH_UP_MS = 60_000;

/** Brings histories up to date in the background, and keeps them from growing for ever. */
@Injectable()
export class HistoryJobs implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private starting: Promise<void> | undefined;

  constructor(
    private readonly config: Config,
    private readonly git: GitStore,
    private readonly capture: HistoryCapture,
    private readonly keeper: HistoryKeeper,
    private readonly trim: HistoryTrim,
    private readonly log: Log,
  ) {}

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

  @OnJob(captureHistory)
  async bringUpToDate({ workspace_id }: { workspace_id: string }): Promise<void> {
    if ((await this.git.fault()) === null) await this.capture.upToDate(workspace_id);
  }

  private async begin(): Promise<void> {
    const fault = await this.git.fault();
    if (fault === null) await this.catchUp();
    else this.log.warn({}, fault);
  }

  @Chore('catch_up_histories', { everyMs: CATCH_UP_MS })
  async catchUp(): Promise<void> {
    for (const id of await this.trim.behind()) await this.keeper.enqueue(id);
  }
}
