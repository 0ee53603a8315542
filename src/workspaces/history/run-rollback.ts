import { Injectable } from '@nestjs/common';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { NamedLeases } from '../../platform/leases/index.js';
import { find } from '../changes/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../core/index.js';
import { GitStore } from './git-store.js';
import type { RevertedFileView, RevertedView } from './history.dto.js';
import { HistoryCapture } from './history-capture.js';
import { Restoring } from './restoring.js';
import { changedSince, isAbsent, planFor, type Restorable, refusal } from './rollback-plan.js';
import { VersionReads } from './version-reads.store.js';

const MOST_BYTES = 64 * 1024 * 1024;

/** A run with those that it handed tasks to. */
interface RunsToUndo {
  readonly ids: readonly string[];
  readonly startedAt: string;
}

/** Takes back what a run did to files. */
@Injectable()
export class RunRollback {
  constructor(
    private readonly leases: NamedLeases,
    private readonly folders: WorkspaceFolders,
    private readonly capture: HistoryCapture,
    private readonly git: GitStore,
    private readonly versions: VersionReads,
    private readonly restoring: Restoring,
  ) {}

  /**
   * Makes the files that a run changed what they were before it. All or nothing: 409 names those that somebody changed
   * since, unless they are to be skipped. Done again, or after a crash in the middle, it does what is left to do.
   */
  async rollback(
    actor: Actor,
    workspace: VisibleWorkspace,
    runs: RunsToUndo,
    skipChanged: boolean,
  ): Promise<RevertedView> {
    await this.git.require();
    // One at a time, in whatever process: the second finds nothing left to do.
    return this.leases.hold(`rollback:${workspace.id}`, async () => {
      await this.requireWhole(workspace.id, runs.startedAt);
      await this.capture.upToDate(workspace.id);
      return this.revert(actor, workspace, runs.ids, skipChanged);
    });
  }

  private async revert(
    actor: Actor,
    workspace: VisibleWorkspace,
    runIds: readonly string[],
    skipChanged: boolean,
  ): Promise<RevertedView> {
    const files = this.folders.open(workspace);
    const plan = await planFor(files, await this.versions.ofRuns(workspace.id, runIds));
    const skipped = [...plan.changedSince, ...plan.notKept];
    if (skipped.length > 0 && !skipChanged) throw refusal(plan);
    const reverted: RevertedFileView[] = [];
    for (const { path, head } of plan.remove) {
      await this.remove(actor, workspace.id, files, path, head.etag);
      reverted.push({ path, action: 'removed' });
    }
    await this.removeMade(actor, workspace.id, files, runIds);
    for (const some of portions(plan.restore)) {
      await this.restore(actor, workspace, files, some);
      for (const { path } of some) reverted.push({ path, action: 'restored' });
    }
    return { reverted, skipped };
  }

  private async restore(
    actor: Actor,
    workspace: VisibleWorkspace,
    files: WorkspaceFs,
    some: Restorable[],
  ): Promise<void> {
    const contents = this.git.read(
      workspace,
      some.map(({ before }) => before.blob),
    );
    let at = 0;
    for await (const content of contents) {
      const file = some[at++];
      if (!file) return;
      const { path, before, head } = file;
      if (!content) throw new Conflict(`The content that ${path} had before is not kept any more`);
      const conditions = isAbsent(head) ? { ifNoneMatch: '*' as const } : { ifMatch: head.etag ?? undefined };
      await unlessChanged(path, () =>
        this.restoring.write(
          actor,
          workspace.id,
          files,
          { path, content, executable: before.executable },
          conditions,
        ),
      );
    }
  }

  private async remove(
    actor: Actor,
    workspaceId: string,
    files: WorkspaceFs,
    path: string,
    etag: string | null,
  ): Promise<void> {
    const now = await find(files, path);
    if (!now) return;
    if (now.etag !== etag) throw changedSince([path]);
    await this.restoring.remove(actor, workspaceId, files, now);
  }

  /** Removes links that the run made, and folders that are empty now, the innermost first. */
  private async removeMade(
    actor: Actor,
    workspaceId: string,
    files: WorkspaceFs,
    runIds: readonly string[],
  ): Promise<void> {
    for (const path of await this.versions.madeByRuns(workspaceId, runIds)) {
      const now = await find(files, path);
      if (now?.type !== 'directory' && now?.type !== 'symlink') continue;
      try {
        await this.restoring.remove(actor, workspaceId, files, now);
      } catch (error) {
        // Something of somebody else's is in it.
        if (!(error instanceof WorkspaceFsError && ['not_empty', 'not_found'].includes(error.code)))
          throw error;
      }
    }
  }

  /** Half a rollback would be worse than none: refuses where the history does not go back to the run's start. */
  private async requireWhole(workspaceId: string, startedAt: string): Promise<void> {
    if (await this.versions.isTrimmedSince(workspaceId, startedAt))
      throw new Conflict('The run is too long ago: what its files were before is not kept any more');
  }
}

async function unlessChanged<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (error instanceof WorkspaceFsError && error.code === 'precondition_failed') throw changedSince([path]);
    throw error;
  }
}

function* portions(files: Restorable[]): Generator<Restorable[]> {
  let some: Restorable[] = [];
  let bytes = 0;
  for (const file of files) {
    some.push(file);
    bytes += file.before.size ?? 0;
    if (bytes < MOST_BYTES) continue;
    yield some;
    some = [];
    bytes = 0;
  }
  if (some.length > 0) yield some;
}
