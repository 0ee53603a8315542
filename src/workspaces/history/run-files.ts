import { Injectable } from '@nestjs/common';
import { GitStore } from './git-store.js';
import type { FileChangeView, FileStateView } from './history.dto.js';
import { HistoryCapture } from './history-capture.js';
import { type RunFile, VersionReads } from './version-reads.store.js';

@Injectable()
export class RunFiles {
  constructor(
    private readonly versions: VersionReads,
    private readonly capture: HistoryCapture,
    private readonly git: GitStore,
  ) {}

  /** By path, at most `limit`, with the state before and after. */
  async changed(workspaceId: string, runIds: readonly string[], limit: number): Promise<FileChangeView[]> {
    if ((await this.git.fault()) !== null) return this.logged(workspaceId, runIds, limit);
    await this.capture.upToDate(workspaceId);
    const files = await this.versions.ofRuns(workspaceId, runIds, limit);
    return files.flatMap(({ path, replaced, before, after }) => {
      const isGone = after.unkept === 'deleted';
      if (!replaced && isGone) return [];
      const kind = isGone ? 'deleted' : replaced ? 'modified' : 'created';
      return { path, kind, before: replaced ? stateOf(before) : null, after: isGone ? null : stateOf(after) };
    });
  }

  /** Where there is no history there is still the log, which knows no before. */
  private async logged(
    workspaceId: string,
    runIds: readonly string[],
    limit: number,
  ): Promise<FileChangeView[]> {
    const rows = await this.versions.loggedOfRuns(workspaceId, runIds, limit);
    return rows.map(({ path, kind, size, etag }) => ({
      path,
      kind: kind === 'moved' ? 'created' : kind,
      before: null,
      after: kind === 'deleted' ? null : { version: null, size, etag, kept: false },
    }));
  }
}

function stateOf(version: RunFile['before']): FileStateView {
  if (!version) return { version: null, size: null, etag: null, kept: false };
  const { id, size, etag, unkept } = version;
  return { version: id, size, etag, kept: unkept === null };
}
