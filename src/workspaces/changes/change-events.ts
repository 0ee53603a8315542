import { iso } from '../../platform/database/index.js';
import type { ServerEvent } from '../../platform/streams/index.js';
import { Subscription, type Topics } from '../../platform/topics/index.js';
import { type ChangeLog, changesTopic, type LoggedChange } from './change-log.js';
import type { ChangeView } from './changes.dto.js';

/** Of at most some kilobytes each, as long as two paths are. */
const EVENTS_AT_ONCE = 100;

/** The changes of one workspace as a stream. */
export class ChangeEvents {
  constructor(
    private readonly log: ChangeLog,
    private readonly topics: Topics,
    private readonly workspaceId: string,
  ) {}

  /** Those after number `after`, then each that follows, in batches, until it is aborted. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<ServerEvent[]> {
    const wakeUp = new Subscription(this.topics, changesTopic(this.workspaceId));
    let seen = after;
    try {
      while (!signal.aborted) {
        const wait = await this.log.settle(this.workspaceId);
        const rows = await this.log.after(this.workspaceId, seen, EVENTS_AT_ONCE);
        const pruned = await this.log.prunedThrough(this.workspaceId);
        if (seen < pruned) {
          yield [resetAt(pruned)];
          seen = pruned;
          continue;
        }
        if (rows.length > 0) yield rows.map(eventOf);
        seen = Number(rows.at(-1)?.id ?? seen);
        if (rows.length > 0) continue;
        const timer = wait === null ? undefined : setTimeout(() => wakeUp.wake(), wait);
        await wakeUp.wait(signal);
        clearTimeout(timer);
      }
    } finally {
      wakeUp.close();
    }
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
