import { Injectable, OnModuleInit } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { Log } from '../../platform/log/index.js';
import { ChangeLog, type Keeper, type Writer } from '../changes/index.js';
import { GitStore } from './git-store.js';
import { HistoryCapture } from './history-capture.js';
import { VersionsStore } from './versions.store.js';

/** Captures changes before they are overwritten. */
@Injectable()
export class HistoryKeeper implements Keeper, OnModuleInit {
  constructor(
    private readonly changes: ChangeLog,
    private readonly versions: VersionsStore,
    private readonly capture: HistoryCapture,
    private readonly git: GitStore,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.changes.keepWith(this);
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
}
