import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { isOutage, QUERY_MS, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import { type Difference, isWorkspaceError, KeyedLock, Snapshot } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { newId } from '../../platform/database/index.js';
import { Log } from '../../platform/log/index.js';
import { WorkspaceFolders } from '../core/index.js';
import type { Change } from './change.js';
import { ChangeLogStore } from './change-log.store.js';
import { RecordedWrites } from './recorded-writes.js';
import { type Scan, ScansStore } from './scans.store.js';
import type { Writer } from './writer.js';

export interface Settled {
  changes: Change[];
  /** The comparison that begins with the snapshot of this one, and its folders. */
  next?: { scan: Scan; folders: ReadonlyMap<string, string> };
}

/** Beyond this, folders are compared by time alone: deletions go unnoticed. */
const MAX_COMPARED = 200_000;
const RETRY_MS = 2000;
const STRAY_MS = 10 * 60_000;

const WRITES_UNDER_WAY = 'Writes to the same files have not ended yet';

/** What changed cannot be told from the writes of others at the moment. */
class ChangesUnknown extends Error {}

/** Whether the changes may become known later: the tree could not be listed, or others write to it. */
export const isUnknownYet = (error: unknown): boolean =>
  error instanceof ChangesUnknown || isWorkspaceError(error, 'busy');

/** Comparisons of a workspace with an earlier snapshot of it, which outlives the process. */
@Injectable()
export class Scans implements OnApplicationShutdown {
  private readonly active = new Set<string>();
  private readonly late = new Map<string, Scan>();
  private timer: NodeJS.Timeout | undefined;
  private readonly recording = new KeyedLock();

  constructor(
    private readonly config: Config,
    private readonly scans: ScansStore,
    private readonly folders: WorkspaceFolders,
    private readonly changes: ChangeLogStore,
    private readonly writes: RecordedWrites,
    private readonly log: Log,
  ) {}

  /** The next process recovers what is late by then. */
  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  async advance(scan: Scan, seconds: number, background: boolean): Promise<Required<Settled>> {
    const writer = { type: scan.writer_type, id: scan.writer_id };
    const next = await this.begin(scan.workspace_id, writer, seconds, background);
    const seen = await Snapshot.read(this.fileOf(next.id));
    const { changes } = await this.settle(scan, seen).catch(async (error: unknown) => {
      await this.giveUp(next, error);
      throw error;
    });
    const { from_seq: settled_seq } = await this.scans.now(scan.workspace_id);
    return { changes, next: { scan: { ...next, settled_seq }, folders: seen.folders() } };
  }

  async begin(workspaceId: string, writer: Writer, seconds: number, background = false): Promise<Scan> {
    const id = newId();
    this.active.add(id);
    try {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      // Before the snapshot, which may lack what is recorded from here on.
      const now = await this.scans.now(workspaceId);
      await Snapshot.save(this.folders.pathOf({ id: workspaceId }), this.fileOf(id));
      return await this.scans.add(id, workspaceId, writer, { ...now, seconds, background });
    } catch (error) {
      this.active.delete(id);
      await rm(this.fileOf(id), { force: true });
      throw error;
    }
  }

  /**
   * Compares, records and forgets; repeatable. Has the deadline of background work: what a command did is recorded
   * even if the caller gives up.
   */
  settle(scan: Scan, seen?: Snapshot): Promise<Settled> {
    return withQueryDeadline(QUERY_MS, () => this.settleNow(scan, seen));
  }

  /** As {@link advance}, or without a next comparison where there is no room for its snapshot. */
  async advanceOrSettle(scan: Scan, seconds: number, background: boolean): Promise<Settled> {
    try {
      return await this.advance(scan, seconds, background);
    } catch (error) {
      if (!isWorkspaceError(error, 'no_space')) throw error;
      this.log.warn({ err: error, workspace_id: scan.workspace_id }, 'snapshot not saved, disk full');
      return this.settle(scan);
    }
  }

  private async settleNow(scan: Scan, seen?: Snapshot): Promise<Settled> {
    const { id, workspace_id, writer_type, writer_id } = scan;
    try {
      const differences = await this.compare(scan, seen);
      const paths = differences.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]));
      if (!(await this.writes.ended(workspace_id, paths))) throw new ChangesUnknown(WRITES_UNDER_WAY);
      const changes = await this.recording.run(workspace_id, async () => {
        const own = await this.changes.missing(workspace_id, differences, scan);
        await this.changes.record(workspace_id, { type: writer_type, id: writer_id }, own);
        return own;
      });
      await this.remove(id);
      return { changes };
    } finally {
      this.active.delete(id);
    }
  }

  private async compare({ id, workspace_id, started_at }: Scan, seen?: Snapshot): Promise<Difference[]> {
    const root = this.folders.pathOf({ id: workspace_id });
    const before = await Snapshot.read(this.fileOf(id));
    if (before.count <= MAX_COMPARED) return await before.changesTo(seen ?? (await Snapshot.take(root)));
    const changed = await Snapshot.take(root, Date.parse(started_at));
    return changed.all().map(change => ({ ...change, kind: 'modified' }));
  }

  private async recover(scans: readonly Scan[]): Promise<void> {
    for (const scan of scans) {
      if (this.active.has(scan.id) || this.late.has(scan.id)) continue;
      try {
        await this.recoverOne(scan);
      } catch (error) {
        if (!isUnknownYet(error)) throw error;
        this.settleLater(scan, error);
      }
    }
  }

  async recoverRun(workspaceId: string, runId: string): Promise<void> {
    await this.recover(await this.scans.ofRun(workspaceId, runId));
  }

  async recoverOverdue(): Promise<void> {
    await this.recover(await this.scans.overdue());
  }

  /** Those of dead processes, and what this one could not end; the claim lets one process do it. */
  async recoverOrphaned(): Promise<void> {
    await this.recover(await this.scans.claimOrphaned(id => this.active.has(id) || this.late.has(id)));
  }

  private async recoverOne(scan: Scan): Promise<void> {
    try {
      await this.settle(scan);
    } catch (error) {
      if (isOutage(error) || isUnknownYet(error)) throw error;
      await this.giveUp(scan, error);
    }
  }

  /** Retries until it succeeds or can never be made. */
  settleLater(scan: Scan, error: unknown): void {
    this.log.warn(
      { err: error, workspace_id: scan.workspace_id },
      'the changes of a command are recorded later',
    );
    this.late.set(scan.id, scan);
    this.timer ??= setTimeout(() => void this.settleLate(), RETRY_MS).unref();
  }

  private async settleLate(): Promise<void> {
    this.timer = undefined;
    for (const [id, scan] of [...this.late])
      try {
        await this.recoverOne(scan);
        this.late.delete(id);
      } catch (error) {
        this.settleLater(scan, error);
      }
  }

  async giveUp(scan: Scan, error: unknown): Promise<void> {
    this.active.delete(scan.id);
    this.log.warn({ err: error, workspace_id: scan.workspace_id }, 'the changes of a command are lost');
    await this.remove(scan.id);
  }

  /** Deletes snapshots without a row: their processes died before the insert. */
  async removeStrays(): Promise<void> {
    const files = await readdir(this.folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const known = await this.scans.ids();
    for (const name of files) {
      const stats = await stat(this.fileOf(name)).catch(() => undefined);
      if (!stats || known.has(name) || Date.now() - stats.mtimeMs < STRAY_MS) continue;
      await rm(this.fileOf(name), { force: true });
    }
  }

  private async remove(id: string): Promise<void> {
    await this.scans.remove(id);
    await rm(this.fileOf(id), { force: true });
  }

  private get folder(): string {
    return path.resolve(this.config.dataDir, 'scans');
  }

  private fileOf(id: string): string {
    return path.join(this.folder, id);
  }
}
