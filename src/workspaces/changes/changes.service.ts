import { Injectable } from '@nestjs/common';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { WorkspacesStore } from '../core/index.js';
import { changesTopic, type LoggedChange } from './change-log.store.js';
import { ChangeView, WatchChanges } from './changes.dto.js';
import { type LogHead, NumberedChangesStore } from './numbered-changes.store.js';

const BATCH = 500;

export interface WorkspaceHead extends LogHead {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
}

@Injectable()
export class ChangesService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly log: NumberedChangesStore,
  ) {}

  @Action('workspace_watch', {
    summary:
      'Stream every change to the files of a workspace, with who made it; `reset` says that those up to a number are not kept any more',
    permission: 'file.read',
    input: WatchChanges,
    output: ChangeView,
    restOnly: true,
  })
  async events(actor: Actor, { workspace_id }: WatchChanges): Promise<Watched> {
    await this.workspaces.require(actor, 'file.read', workspace_id);
    return { workspaceId: workspace_id, log: new WorkspaceEvents(this.log, workspace_id) };
  }

  async position(actor: Actor, { workspace_id }: Pick<WatchChanges, 'workspace_id'>): Promise<number> {
    await this.workspaces.require(actor, 'file.read', workspace_id);
    return this.log.last(workspace_id);
  }

  /** The workspaces that the caller sees, oldest first, at most `max`, each with how far its log has come. */
  async heads(actor: Actor, max: number): Promise<WorkspaceHead[]> {
    requireScope(actor, 'file.read');
    const heads: WorkspaceHead[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.workspaces.list(actor, { cursor, limit: Math.min(BATCH, max - heads.length) });
      const found = page.items;
      const logs = await this.log.heads(found.map(({ id }) => id));
      const unwritten = { position: 0, isUnsettled: false };
      for (const { id, organization_id, name } of found)
        heads.push({ id, organization_id, name, ...(logs.get(id) ?? unwritten) });
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined && heads.length < max);
    return heads;
  }
}

const MAX_EVENTS = 100;

export class WorkspaceEvents implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly log: NumberedChangesStore,
    private readonly workspaceId: string,
  ) {
    this.topic = changesTopic(workspaceId);
  }

  async read(after: number): Promise<LogPage> {
    const moreIn = await this.log.settle(this.workspaceId);
    const rows = await this.log.after(this.workspaceId, after, MAX_EVENTS);
    const pruned = await this.log.prunedThrough(this.workspaceId);
    if (after < pruned) return { events: [resetAt(pruned)] };
    return { events: rows.map(eventOf), moreIn: moreIn ?? undefined };
  }
}

/** Changes up to this number are pruned: a watcher has to read the files anew. */
function resetAt(pruned: number): ServerEvent {
  return { id: pruned, event: 'reset', data: { pruned_through: pruned } };
}

function eventOf(change: LoggedChange): ServerEvent {
  const { path, kind, from_path, size, etag, run_id } = change;
  const id = Number(change.id);
  const data: ChangeView = {
    id,
    path,
    kind,
    from: from_path,
    size: size === null ? null : Number(size),
    etag,
    writer: { type: change.writer_type, id: change.writer_id },
    run_id,
    time: iso(change.changed_at),
  };
  return { id, event: 'file.changed', data };
}
