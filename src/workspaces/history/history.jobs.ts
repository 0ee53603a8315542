import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database, newId, type UnitOfWork } from '../../platform/database/index.js';
import { Chore, defineJob, Jobs } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log/index.js';
import { GitStore, type RepositoryOf } from './git-store.js';
import { HistoryCapture } from './history-capture.js';
import { type Commit, HistoryTrimStore } from './history-trim.store.js';
import { KeptCopies } from './kept-copies.js';
import { VersionsStore } from './versions.store.js';

/** The queue of histories that are behind. */
export const HISTORY = 'history';

export const captureHistory = defineJob('capture_history', { queue: HISTORY, payload: ['workspace_id'] });

const CATCH_UP_MS = 60_000;
const HOUR_MS = 3_600_000;
const NEARLY_FULL = 0.8;
/** How often a repository that is too large is halved before what is left of it stays. */
const MAX_HALVINGS = 6;

/** Forgets versions: those replaced longer ago than `history` of RETENTION_DAYS, and more where a history has grown too large. */
@Injectable()
export class HistoryTrim {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly versions: VersionsStore,
    private readonly store: HistoryTrimStore,
    private readonly git: GitStore,
    private readonly copies: KeptCopies,
    private readonly log: Log,
  ) {}

  @Chore('trim_histories', { everyMs: HOUR_MS })
  async due(): Promise<void> {
    if ((await this.git.fault()) !== null) return;
    const nearlyFull = Math.floor(this.config.workspaceLimits.history_bytes * NEARLY_FULL);
    for (const workspace of await this.store.due(nearlyFull)) {
      try {
        await this.trim(workspace);
      } catch (error) {
        this.log.error({ err: error, workspace_id: workspace.id }, 'a history was not trimmed');
      }
    }
  }

  async trim(workspace: RepositoryOf): Promise<void> {
    await this.database.transaction(async unit => {
      if (!(await this.versions.lock(unit, workspace.id))) return;
      const { retentionDays, workspaceLimits } = this.config;
      let oldest = await this.store.commitBefore(unit, workspace.id, retentionDays.history);
      let bytes = await this.forgetBefore(unit, workspace, oldest);
      for (let n = 0; n < MAX_HALVINGS && bytes > workspaceLimits.history_bytes; n++) {
        const middle = await this.store.middleCommit(unit, workspace.id);
        if (!middle || middle.id === oldest?.id) break;
        oldest = middle;
        bytes = await this.forgetBefore(unit, workspace, oldest);
      }
      await this.store.setTrimmed(unit, workspace.id, bytes, oldest);
      await this.copies.sweep(workspace);
    });
  }

  /** What this commit has stays; what was replaced before does not. Returns the bytes that are left. */
  private async forgetBefore(unit: UnitOfWork, workspace: RepositoryOf, commit?: Commit): Promise<number> {
    if (commit) await this.store.deleteBefore(unit, workspace.id, commit);
    return this.git.of(workspace).forget(commit?.sha ?? null);
  }
}

/** Begins the histories of workspaces that have none yet. */
@Injectable()
export class HistoryJobs implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private starting: Promise<void> | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly git: GitStore,
    private readonly capture: HistoryCapture,
    private readonly store: HistoryTrimStore,
    private readonly jobs: Jobs,
    private readonly log: Log,
  ) {}

  /** Startup does not wait for what an earlier process left. */
  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.starting = this.begin().catch((error: unknown) =>
      this.log.warn({ err: error }, 'histories are behind until the next chore'),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.starting;
  }

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
    if ((await this.git.fault()) !== null) return;
    for (const workspace_id of await this.store.incomplete())
      await this.database.transaction(unit =>
        this.jobs.enqueue(unit, captureHistory, newId(), { workspace_id }),
      );
  }
}
