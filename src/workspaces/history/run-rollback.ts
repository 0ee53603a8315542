import { Injectable } from '@nestjs/common';
import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { NamedLeases } from '../../platform/leases/index.js';
import { type Destination, FileWriter, writerFor } from '../changes/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../core/index.js';
import { GitStore } from './git-store.js';
import type { RevertedFileView, RevertedView } from './history.dto.js';
import { HistoryCapture } from './history-capture.js';
import { changedSince, isAbsent, planFor, type Restorable, refusal } from './rollback-plan.js';
import { VersionReadsStore } from './version-reads.store.js';

const MAX_BYTES = 64 * 1024 * 1024;

type Where = Omit<Destination, 'path'>;

/** A run with its tasks. */
interface RunsToUndo {
  readonly ids: readonly string[];
  readonly startedAt: string;
}

@Injectable()
export class RunRollback {
  constructor(
    private readonly leases: NamedLeases,
    private readonly folders: WorkspaceFolders,
    private readonly capture: HistoryCapture,
    private readonly git: GitStore,
    private readonly versions: VersionReadsStore,
    private readonly writer: FileWriter,
  ) {}

  /**
   * Makes the files that a run changed what they were before it. All or nothing: 409 names those that were changed
   * since, unless they are to be skipped. Done again, or after a crash in the middle, it does what is left to do.
   */
  async rollback(
    actor: Actor,
    workspace: VisibleWorkspace,
    runs: RunsToUndo,
    skipChanged: boolean,
  ): Promise<RevertedView> {
    await this.git.require();
    // The second of two concurrent calls finds nothing left to do.
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
    const where = { workspaceId: workspace.id, files, writer: writerFor(actor) };
    const plan = await planFor(files, await this.versions.ofRuns(workspace.id, runIds));
    const skipped = [...plan.changedSince, ...plan.notKept];
    if (skipped.length > 0 && !skipChanged) throw refusal(plan);
    const reverted: RevertedFileView[] = [];
    for (const { path, head } of plan.remove) {
      const now = await files.find(path);
      if (now && now.etag !== head.etag) throw changedSince([path]);
      if (now) await this.writer.remove(where, now);
      reverted.push({ path, action: 'removed' });
    }
    await this.removeMade(where, runIds);
    for (const portion of portions(plan.restore)) {
      await this.restore(workspace, where, portion);
      for (const { path } of portion) reverted.push({ path, action: 'restored' });
    }
    return { reverted, skipped };
  }

  private async restore(workspace: VisibleWorkspace, where: Where, portion: Restorable[]): Promise<void> {
    const blobs = portion.map(({ before }) => before.blob);
    let at = 0;
    for await (const content of this.git.of(workspace).read(blobs)) {
      const file = portion[at++];
      if (!file) return;
      const { path, before, head } = file;
      if (!content) throw new Conflict(`The content that ${path} had before is not kept any more`);
      const condition = isAbsent(head) ? { ifNoneMatch: '*' as const } : { ifMatch: head.etag ?? undefined };
      const { executable } = before;
      await unlessChanged(path, () =>
        this.writer.write({ ...where, path }, content, { ...condition, executable }),
      );
    }
  }

  /** Removes links that the run made, and folders that are empty now, the innermost first. */
  private async removeMade(where: Where, runIds: readonly string[]): Promise<void> {
    for (const path of await this.versions.madeByRuns(where.workspaceId, runIds)) {
      const now = await where.files.find(path);
      if (now?.type !== 'directory' && now?.type !== 'symlink') continue;
      try {
        await this.writer.remove(where, now);
      } catch (error) {
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
  let portion: Restorable[] = [];
  let bytes = 0;
  for (const file of files) {
    portion.push(file);
    bytes += file.before.size ?? 0;
    if (bytes < MAX_BYTES) continue;
    yield portion;
    portion = [];
    bytes = 0;
  }
  if (portion.length > 0) yield portion;
}
