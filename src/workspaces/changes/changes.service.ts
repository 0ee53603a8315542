import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import type { Watched } from '../../platform/streams/index.js';
import { WorkspacesStore } from '../core/index.js';
import { ChangeLog } from './change-log.js';
import { ChangeView, WatchChanges } from './changes.dto.js';
import { WorkspaceEvents } from './workspace-events.js';

const AT_ONCE = 500;

/** A workspace that somebody sees, and how far its log has come. */
export interface WorkspaceHead {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  /** Number of its last change. */
  readonly position: number;
  /** Whether there are changes that have no number yet. */
  readonly isUnsettled: boolean;
}

/** Watching what happens to files. */
@Injectable()
export class ChangesService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly log: ChangeLog,
  ) {}

  @Action({
    name: 'workspace_watch',
    on: 'workspace_id',
    summary:
      'Stream every change to the files of a workspace, with who made it; `reset` says that those up to a number are not kept any more',
    effect: 'read',
    permission: 'file.read',
    input: WatchChanges,
    output: ChangeView,
    restOnly: true,
  })
  async events(actor: Actor, { workspace_id }: WatchChanges): Promise<Watched> {
    await this.workspaces.require(actor, 'file.read', workspace_id);
    return { workspaceId: workspace_id, log: new WorkspaceEvents(this.log, workspace_id) };
  }

  /** The number of the last change so far. */
  async position(actor: Actor, { workspace_id }: Pick<WatchChanges, 'workspace_id'>): Promise<number> {
    await this.workspaces.require(actor, 'file.read', workspace_id);
    return this.log.last(workspace_id);
  }

  /** The workspaces that the caller sees, oldest first and `most` at most, each with how far its log has come. */
  async heads(actor: Actor, most: number): Promise<WorkspaceHead[]> {
    requireScope(actor, 'file.read');
    const heads: WorkspaceHead[] = [];
    for (let after: string | undefined; heads.length < most; after = heads.at(-1)?.id) {
      const limit = Math.min(AT_ONCE, most - heads.length);
      const found = await this.workspaces.list(actor, { after, limit });
      const logs = await this.log.heads(found.map(({ id }) => id));
      const unwritten = { position: 0, isUnsettled: false };
      for (const { id, organization_id, name } of found)
        heads.push({ id, organization_id, name, ...(logs.get(id) ?? unwritten) });
      if (found.length < limit) break;
    }
    return heads;
  }
}
