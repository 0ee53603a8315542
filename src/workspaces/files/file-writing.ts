import { Injectable } from '@nestjs/common';
import type { Entry, WorkspaceFs } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { type Beginning, type Change, type Done, RecordedWrites, writerFor } from '../changes/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';

/** What every write by somebody who may has in common: it is asked for, and written down. */
@Injectable()
export class FileWriting {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly writes: RecordedWrites,
  ) {}

  async open(actor: Actor, id: string): Promise<WorkspaceFs> {
    return this.folders.open(await this.workspaces.require(actor, 'file.write', id));
  }

  /** As {@link RecordedWrites.run}, in the actor's name. */
  run<T>(actor: Actor, workspaceId: string, write: (beginning: Beginning) => Promise<Done<T>>): Promise<T> {
    return this.writes.run(workspaceId, writerFor(actor), write);
  }
}

export function written({ path, type, size, etag }: Entry, created: boolean): Change {
  return { path, kind: created ? 'created' : 'modified', size: type === 'file' ? size : null, etag };
}
