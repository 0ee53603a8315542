import { BeforeApplicationShutdown, Injectable, OnModuleInit } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { Database, newId } from '../../platform/database/index.js';
import { defineJob, Jobs } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log/index.js';
import { ChangeLog, COALESCE_MS, type Keeper, type Writer } from '../changes/index.js';
import { GitStore } from './git-store.js';
import { HistoryCapture } from './history-capture.js';
import { VersionsStore } from './versions.store.js';

export const captureHistory = defineJob('capture_history', {
  queue: { name: 'history', lockDuration: 60_000, concurrency: 2 },
  payload: ['workspace_id'],
});

/** A little longer than writes coalesce, so that they become one version. */
const DELAY_MS = COALESCE_MS + 200;

/** Captures changes in the background soon after they were made, and at once before they are overwritten. */
@Injectable()
export class HistoryKeeper implements Keeper, OnModuleInit, BeforeApplicationShutdown {
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly database: Database,
    private readonly changes: ChangeLog,
    private readonly versions: VersionsStore,
    private readonly capture: HistoryCapture,
    private readonly git: GitStore,
    private readonly jobs: Jobs,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.changes.onRecorded(workspaceId => this.captureSoon(workspaceId));
    this.changes.keepWith(this);
  }

  /** A chore finds what is not enqueued yet. */
  beforeApplicationShutdown(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
  }

  async risk(workspaceId: string, writer: Writer, paths: readonly string[]): ReturnType<Keeper['risk']> {
    // If that fails, keep() logs why.
    const fault = await this.git.fault().catch(() => undefined);
    if (fault === undefined) return true;
    if (fault !== null) return false;
    return this.versions.isAtRisk(workspaceId, writer, paths);
  }

  /**
   * A machine without history still accepts writes; but while the database is away, nothing is overwritten: it will be back.
   */
  async keep(workspaceId: string): Promise<void> {
    try {
      if ((await this.git.fault()) === null) await this.capture.upToDate(workspaceId);
    } catch (error) {
      if (isOutage(error)) throw error;
      this.log.error(
        { err: error, workspace_id: workspaceId },
        'an overwritten version is not in the history',
      );
    }
  }

  private captureSoon(workspaceId: string): void {
    if (this.timers.has(workspaceId)) return;
    const timer = setTimeout(() => {
      this.timers.delete(workspaceId);
      this.enqueue(workspaceId).catch((error: unknown) =>
        this.log.warn(
          { err: error, workspace_id: workspaceId },
          'the history is behind until the next chore',
        ),
      );
    }, DELAY_MS);
    this.timers.set(workspaceId, timer.unref());
  }

  async enqueue(workspaceId: string): Promise<void> {
    if ((await this.git.fault()) !== null) return;
    await this.database.transaction(unit =>
      this.jobs.enqueue(unit, captureHistory, newId(), { workspace_id: workspaceId }),
    );
  }
}
