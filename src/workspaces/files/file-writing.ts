import { Inject, Injectable } from '@nestjs/common';
import { type Entry, normalizePath, type WorkspaceFs } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/actor.js';
import { type Change, ChangeLog } from '../changes/change-log.js';
import { writerFor } from '../changes/writer.js';
import { WorkspaceFolders, WorkspacesStore } from '../workspaces/index.js';

/** What every write by somebody who may has in common: it is asked for, and written down. */
@Injectable()
export class FileWriting {
  constructor(
    @Inject(WorkspacesStore) private readonly workspaces: WorkspacesStore,
    @Inject(WorkspaceFolders) private readonly folders: WorkspaceFolders,
    @Inject(ChangeLog) private readonly changes: ChangeLog,
  ) {}

  async open(actor: Actor, id: string): Promise<WorkspaceFs> {
    return this.folders.open(await this.workspaces.require(actor, 'file.write', id));
  }

  /** What is at these paths is in the history before anything else is. */
  async begin(actor: Actor, workspaceId: string, ...paths: string[]): Promise<void> {
    for (const path of paths)
      await this.changes.beforeWriting(workspaceId, writerFor(actor), normalizePath(path));
  }

  record(actor: Actor, workspaceId: string, changes: readonly Change[]): Promise<void> {
    return this.changes.record(workspaceId, writerFor(actor), changes);
  }
}

export function written({ path, type, size, etag }: Entry, created: boolean): Change {
  return { path, kind: created ? 'created' : 'modified', size: type === 'file' ? size : null, etag };
}
