import { iso } from '../../platform/database/index.js';
import type { EventLog, LogPage, ServerEvent } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { type ChangeLog, changesTopic, type LoggedChange } from './change-log.js';
import type { ChangeView } from './changes.dto.js';

/** Of at most some kilobytes each, as long as two paths are. */
const EVENTS_AT_ONCE = 100;

/** The changes of one workspace, as events. */
export class WorkspaceEvents implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly log: ChangeLog,
    private readonly workspaceId: string,
  ) {
    this.topic = changesTopic(workspaceId);
  }

  async read(after: number): Promise<LogPage> {
    const moreIn = await this.log.settle(this.workspaceId);
    const rows = await this.log.after(this.workspaceId, after, EVENTS_AT_ONCE);
    const pruned = await this.log.prunedThrough(this.workspaceId);
    if (after < pruned) return { events: [resetAt(pruned)] };
    return { events: rows.map(eventOf), moreIn: moreIn ?? undefined };
  }
}

/** Tells a watcher that changes up to a number are not kept any more: what it knows of files it has to read anew. */
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
