import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/actor.js';
import { Action } from '../../platform/actions/action.js';
import { problemOf } from '../../platform/http/problem.js';
import { Signals } from '../../platform/signals/signals.js';
import { WorkspacesStore } from '../workspaces/index.js';
import { ChangeEvents } from './change-events.js';
import { ChangeLog } from './change-log.js';
import { ChangeView, WatchChanges } from './changes.dto.js';

/** Watching what happens to files. */
@Injectable()
export class ChangesService {
  constructor(
    @Inject(WorkspacesStore) private readonly workspaces: WorkspacesStore,
    @Inject(ChangeLog) private readonly log: ChangeLog,
    @Inject(Signals) private readonly signals: Signals,
  ) {}

  @Action({
    name: 'workspace_events',
    summary:
      'Stream every change to the files of a workspace, with who made it; `reset` says that those up to a number are not kept any more',
    effect: 'read',
    permission: 'file.read',
    input: WatchChanges,
    output: ChangeView,
    restOnly: true,
  })
  async events(actor: Actor, { workspace_id }: WatchChanges): Promise<ChangeEvents> {
    await this.workspaces.require(actor, 'file.read', workspace_id);
    return new ChangeEvents(this.log, this.signals, workspace_id, () => this.sees(actor, workspace_id));
  }

  /** The number of the last change so far. */
  async position(actor: Actor, { workspace_id }: Pick<WatchChanges, 'workspace_id'>): Promise<number> {
    await this.workspaces.require(actor, 'file.read', workspace_id);
    return this.log.last(workspace_id);
  }

  private async sees(actor: Actor, workspaceId: string): Promise<boolean> {
    try {
      await this.workspaces.require(actor, 'file.read', workspaceId);
      return true;
    } catch (error) {
      if (!problemOf(error)) throw error;
      return false; // the workspace is gone, or no longer theirs to see
    }
  }
}
