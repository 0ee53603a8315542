import { Injectable } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Topics } from '../../../platform/topics/index.js';
import {
  CHANGE_LOG_DAYS,
  type LoggedChange,
  NumberedChangesStore,
} from '../../../workspaces/changes/index.js';
import { FileEvents } from './file-events.js';
import { FILE_WINDOWS, FilesStore, type LiveFileTrigger } from './files.store.js';
import { movedBy, type Window, widened } from './window.js';

/** Changes that one transaction takes: few enough to hold no deployment for long, enough for many triggers at once. */
const BATCH = 2500;
const DAY_MS = 86_400_000;

/**
 * Reads the logs of changes for file triggers, each workspace once for all of its triggers. One transaction moves the cursor and
 * adds to the windows, so that a crash leaves both or neither.
 */
@Injectable()
export class ChangeReader {
  constructor(
    private readonly database: Database,
    private readonly log: NumberedChangesStore,
    private readonly files: FilesStore,
    private readonly topics: Topics,
  ) {}

  /** Reads what is there; milliseconds until there is more to read, null where that is not known. */
  async read(workspaceId: string): Promise<number | null> {
    for (;;) {
      const wait = await this.log.settle(workspaceId);
      const cursor = await this.files.cursor(workspaceId);
      if (cursor === undefined) return null;
      const changes = await this.log.after(workspaceId, cursor, BATCH);
      const isGap = Number(changes[0]?.id ?? 0) !== cursor + 1;
      const pruned = isGap ? await this.log.prunedThrough(workspaceId) : 0;
      if (changes.length === 0 && pruned <= cursor) return wait;
      const became = await this.database.transaction(unit =>
        this.take(unit, workspaceId, { cursor, changes, pruned }),
      );
      if (became === 'busy' || (became === 'read' && changes.length < BATCH)) return wait;
    }
  }

  /** Windows wait for changes that have happened and have no number yet, as they would for others. */
  async extend(workspaceId: string): Promise<void> {
    const due = new Set((await this.files.due(workspaceId)).map(({ id }) => id));
    const unsettled = due.size === 0 ? [] : await this.files.unsettled(workspaceId, BATCH);
    if (unsettled.length === 0) return;
    const triggers = await this.files.live(workspaceId, this.database);
    const events = new FileEvents(triggers.filter(({ id }) => due.has(id)));
    const found = await events.of(unsettled);
    if (found.size === 0) return;
    await this.database.transaction(async unit => {
      const windows = await this.files.windows(unit, [...found.keys()]);
      const moved = new Map<string, Window>();
      for (const [{ id, config }, changes] of found) {
        const window = windows.get(id);
        if (!window) continue;
        const last = Math.max(...changes.map(({ changed_at }) => Date.parse(changed_at)));
        moved.set(id, movedBy(window, config.settleSeconds, last));
      }
      await this.files.setWindows(unit, moved);
    });
  }

  private async take(
    unit: UnitOfWork,
    workspaceId: string,
    { cursor, changes, pruned }: { cursor: number; changes: readonly LoggedChange[]; pruned: number },
  ): Promise<'read' | 'moved' | 'busy'> {
    const locked = await this.files.lock(unit, workspaceId);
    if (locked === undefined) return 'busy';
    if (locked !== cursor) return 'moved';
    // After the changes: whichever trigger was live when one of them was made is there.
    const triggers = await this.files.live(workspaceId, unit);
    const found = await new FileEvents(triggers).of(changes);
    const behind = pruned > cursor ? triggers.filter(({ since }) => this.isPruned(since)) : [];
    if (found.size + behind.length > 0) await this.gather(unit, found, behind, pruned);
    await this.files.advance(unit, workspaceId, Math.max(pruned, Number(changes.at(-1)?.id ?? 0)));
    return 'read';
  }

  private async gather(
    unit: UnitOfWork,
    found: ReadonlyMap<LiveFileTrigger, readonly LoggedChange[]>,
    behind: readonly LiveFileTrigger[],
    pruned: number,
  ): Promise<void> {
    const before = await this.files.windows(unit, [...found.keys(), ...behind]);
    const windows = new Map<string, Window>();
    const chainOf = await this.files.chains(unit, [...new Set([...found.values()].flat())]);
    const known = new Map<LoggedChange, { id: number; at: number; chain: ReturnType<typeof chainOf> }>();
    const asMatched = (change: LoggedChange) => {
      const matched = known.get(change) ?? {
        id: Number(change.id),
        at: Date.parse(change.changed_at),
        chain: chainOf(change),
      };
      known.set(change, matched);
      return matched;
    };
    for (const [{ id, deployment_id, config }, changes] of found) {
      const window = before.get(id);
      if (window === undefined) continue;
      windows.set(id, widened(window, config, deployment_id, changes.map(asMatched)));
    }
    const now = new Date().toISOString();
    for (const { id } of behind) {
      const window = windows.get(id) ?? before.get(id);
      if (window === undefined) continue;
      windows.set(id, { since: now, ...window, fire_at: now, reset: pruned });
    }
    await this.files.setWindows(unit, windows);
    const isSooner = [...windows].some(([id, { fire_at }]) => {
      const old = before.get(id)?.fire_at;
      return old === undefined || fire_at < old;
    });
    if (isSooner) await this.topics.publishWithCommit(unit, FILE_WINDOWS);
  }

  /** Whether changes since then may be gone. */
  private isPruned(since: string): boolean {
    return Date.parse(since) < Date.now() - CHANGE_LOG_DAYS * DAY_MS;
  }
}
