import { Injectable, OnModuleInit } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { Config } from '../../platform/config/index.js';
import { dryRun } from '../../platform/database/index.js';
import { Log } from '../../platform/log/index.js';
import { ChangeLogStore, type Keeper, type Writer } from '../changes/index.js';
import { isSkipped } from './draft.js';
import { GitStore } from './git-store.js';
import { HistoryCapture } from './history-capture.js';
import { KeptCopies } from './kept-copies.js';
import { VersionsStore } from './versions.store.js';

/** Above these, capturing all of the workspace is no slower. */
const MAX_COPIES = 200;
const MAX_COPIED_BYTES = 64 * 1024 * 1024;

/** Saves what is overwritten before it is captured: as copies of the very files, or by capturing all where they are many. */
@Injectable()
export class HistoryKeeper implements Keeper, OnModuleInit {
  constructor(
    private readonly changes: ChangeLogStore,
    private readonly config: Config,
    private readonly versions: VersionsStore,
    private readonly copies: KeptCopies,
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
  async keep(workspaceId: string, paths: readonly string[]): Promise<void> {
    try {
      if ((await this.git.fault()) !== null || dryRun()) return;
      let pending = await this.versions.pendingAt(workspaceId, paths, MAX_COPIES + 1);
      if (!pending.isComplete && !(paths.length > 0 && (await this.capture.foundAt(workspaceId, paths)))) {
        await this.capture.allFound(workspaceId);
        pending = await this.versions.pendingAt(workspaceId, paths, MAX_COPIES + 1);
      }
      const files = pending.files.filter(
        ({ path, size }) => !isSkipped(path) && size <= this.config.workspaceLimits.history_file_bytes,
      );
      const bytes = files.reduce((sum, { size }) => sum + size, 0);
      if (!pending.isRecent || files.length > MAX_COPIES || bytes > MAX_COPIED_BYTES)
        return await this.capture.upToDate(workspaceId);
      if (files.length > 0)
        await this.copies.add(
          { id: workspaceId, number: pending.number },
          files,
          this.config.workspaceLimits.history_file_bytes,
        );
    } catch (error) {
      if (isOutage(error)) throw error;
      this.log.error(
        { err: error, workspace_id: workspaceId },
        'an overwritten version is not in the history',
      );
    }
  }
}
