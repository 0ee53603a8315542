import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { beforeSideEffect } from '../../platform/database/index.js';
import { SandboxUids } from './sandbox-uids.js';
import { UnfinishedWrites } from './unfinished-writes.js';

/** What identifies the folder of a workspace. */
interface FolderOf {
  readonly id: string;
  readonly number: number;
}

/** Where workspaces are on disk, and who owns what is in them. */
@Injectable()
export class WorkspaceFolders {
  constructor(
    private readonly config: Config,
    private readonly uids: SandboxUids,
    private readonly unfinished: UnfinishedWrites,
  ) {}

  /** The host's path of a workspace's folder. */
  pathOf({ id }: Pick<FolderOf, 'id'>): string {
    return path.join(this.root, id);
  }

  /** The host account that owns the files and runs the code of a workspace; undefined unless the service is root. */
  ownerOf({ number }: Pick<FolderOf, 'number'>): { uid: number; gid: number } | undefined {
    if (process.getuid?.() !== 0) return undefined;
    const uid = this.uids.of(number);
    return { uid, gid: uid };
  }

  open(workspace: FolderOf): WorkspaceFs {
    this.unfinished.note(workspace.id);
    return new WorkspaceFs(this.pathOf(workspace), this.optionsFor(workspace));
  }

  /** To look at what is there, and to write nothing. */
  reader(id: string): WorkspaceFs {
    return new WorkspaceFs(this.pathOf({ id }), { maxFileBytes: 0 });
  }

  async create(workspace: FolderOf): Promise<void> {
    beforeSideEffect();
    await WorkspaceFs.create(this.pathOf(workspace), this.optionsFor(workspace));
  }

  /** The host's path of the folder with the earlier versions of a workspace's files. Commands never see it. */
  historyOf({ id }: Pick<FolderOf, 'id'>): string {
    return path.join(this.historyRoot, id);
  }

  /** The same, to put files into and take them out of; made where it is missing. */
  openHistory(workspace: FolderOf): Promise<WorkspaceFs> {
    const options = { owner: this.ownerOf(workspace), maxFileBytes: Number.MAX_SAFE_INTEGER };
    return WorkspaceFs.create(this.historyOf(workspace), options);
  }

  /** Removes a workspace's folders, if they are there, while code may still be changing what is in them. */
  async remove(id: string): Promise<void> {
    await this.removeFrom(this.historyRoot, id);
    await this.removeFrom(this.root, id);
  }

  private async removeFrom(root: string, id: string): Promise<void> {
    const folders = new WorkspaceFs(root, { maxFileBytes: this.config.maxFileBytes });
    try {
      await folders.remove(id, { recursive: true });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError && error.code === 'not_found')) throw error;
    }
  }

  private get root(): string {
    return path.resolve(this.config.dataDir, 'workspaces');
  }

  private get historyRoot(): string {
    return path.resolve(this.config.dataDir, 'history');
  }

  private optionsFor(workspace: FolderOf) {
    return { owner: this.ownerOf(workspace), maxFileBytes: this.config.maxFileBytes };
  }
}
