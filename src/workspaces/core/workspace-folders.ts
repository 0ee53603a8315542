import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { beforeSideEffect, dryRun } from '../../platform/database/index.js';
import { SandboxUids } from './sandbox-uids.js';
import { UnfinishedWrites } from './unfinished-writes.js';

interface FolderOf {
  readonly id: string;
  readonly number: number;
}

@Injectable()
export class WorkspaceFolders {
  private readonly isRoot = process.getuid?.() === 0;
  private readonly root: string;
  private readonly historyRoot: string;

  constructor(
    private readonly config: Config,
    private readonly uids: SandboxUids,
    private readonly unfinished: UnfinishedWrites,
  ) {
    this.root = path.resolve(config.dataDir, 'workspaces');
    this.historyRoot = path.resolve(config.dataDir, 'history');
  }

  pathOf({ id }: Pick<FolderOf, 'id'>): string {
    return path.join(this.root, id);
  }

  /** The host account that owns the files and runs the code; undefined unless the service is root. */
  ownerOf({ number }: Pick<FolderOf, 'number'>): { uid: number; gid: number } | undefined {
    if (!this.isRoot) return undefined;
    const uid = this.uids.of(number);
    return { uid, gid: uid };
  }

  open(workspace: FolderOf): WorkspaceFs {
    if (!dryRun()) this.unfinished.note(workspace.id);
    return new WorkspaceFs(this.pathOf(workspace), this.optionsFor(workspace));
  }

  /** Read only. */
  reader(id: string): WorkspaceFs {
    return new WorkspaceFs(this.pathOf({ id }), { maxFileBytes: 0 });
  }

  async create(workspace: FolderOf): Promise<void> {
    beforeSideEffect();
    await WorkspaceFs.create(this.pathOf(workspace), this.optionsFor(workspace));
  }

  /** The folder with the history of its files. Commands never see it. */
  historyOf({ id }: Pick<FolderOf, 'id'>): string {
    return path.join(this.historyRoot, id);
  }

  /** Creates it where it is missing. */
  openHistory(workspace: FolderOf): Promise<WorkspaceFs> {
    const options = { owner: this.ownerOf(workspace), maxFileBytes: Number.MAX_SAFE_INTEGER };
    return WorkspaceFs.create(this.historyOf(workspace), options);
  }

  /** Removes a workspace's folders while code may still change what is in them. */
  async remove(id: string): Promise<void> {
    await this.removeFrom(this.historyRoot, id);
    await this.removeFrom(this.root, id);
  }

  private async removeFrom(root: string, id: string): Promise<void> {
    const folders = new WorkspaceFs(root, { maxFileBytes: this.config.workspaceLimits.file_bytes });
    try {
      await folders.remove(id, { recursive: true });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError && error.code === 'not_found')) throw error;
    }
  }

  private optionsFor(workspace: FolderOf) {
    const { file_bytes: maxFileBytes } = this.config.workspaceLimits;
    return { owner: this.ownerOf(workspace), maxFileBytes, beforeChange: beforeSideEffect };
  }
}
