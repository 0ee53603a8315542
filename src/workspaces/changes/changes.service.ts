import { Injectable } from '@nestjs/common';
import { type Actor, Credentials, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { type ServerEvent, stillMay, whileAllowed } from '../../platform/streams/index.js';
import { Topics } from '../../platform/topics/index.js';
import { WorkspacesStore } from '../core/index.js';
import { ChangeEvents } from './change-events.js';
import { ChangeLog } from './change-log.js';
import { ChangeView, WatchChanges } from './changes.dto.js';

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
    private readonly topics: Topics,
    private readonly credentials: Credentials,
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
  async events(
    actor: Actor,
    { workspace_id }: WatchChanges,
  ): Promise<(after: number, signal: AbortSignal) => AsyncIterable<ServerEvent[]>> {
    const require = () => this.workspaces.require(actor, 'file.read', workspace_id);
    await require();
    const events = new ChangeEvents(this.log, this.topics, workspace_id);
    const may = () => stillMay(this.credentials, actor, require);
    const watcher = { actor, workspaceId: workspace_id, may };
    return (after, signal) =>
      whileAllowed(this.topics, watcher, within => events.follow(after, within), signal);
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
