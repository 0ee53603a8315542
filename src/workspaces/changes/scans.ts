import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { sql } from 'kysely';
import { type Difference, KeyedLock, Snapshot } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, isOutage, newId, QUERY_MS, withQueryDeadline } from '../../platform/database/index.js';
import { hasEndedHere, type LeasedRows, Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { type Change, ChangeLog } from './change-log.js';
import { NewestLogged } from './newest-logged.js';
import { newestChange } from './of-workspace.js';
import type { Writer } from './writer.js';

/** A comparison that has begun: what was there before lies in a file. */
export interface Scan {
  id: string;
  workspace_id: string;
  writer_type: Writer['type'];
  writer_id: string;
  host: string | null;
  pid: number | null;
  from_seq: string;
  started_at: string;
  /** The newest change when the comparison before this one had ended. */
  settled_seq?: string;
}

/** What a comparison found. */
export interface Settled {
  changes: Change[];
  /** The comparison that begins where the last one ended, and the folders that there were. */
  next?: { scan: Scan; folders: ReadonlyMap<string, string> };
}

/** Beyond this, folders are compared by time alone: what was deleted is not noticed. */
const MOST_COMPARED = 200_000;
/** How long after its deadline a command counts as lost, wherever it ran. */
const GRACE_SECONDS = 120;
/** When a comparison whose end failed is made again. */
const LATER_MS = 2000;
/** Far longer than it takes to enter a comparison that has begun. */
const STRAY_MS = 10 * 60_000;

/** Comparisons of what is in a workspace at two times, whose first halves outlive the process. */
@Injectable()
export class Scans implements OnApplicationShutdown {
  private readonly active = new Set<string>();
  private readonly late = new Map<string, Scan>();
  private timer: NodeJS.Timeout | undefined;
  private readonly rows: LeasedRows;
  /** Those who compare the same workspace see what the others have recorded. */
  private readonly recording = new KeyedLock();

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly folders: WorkspaceFolders,
    private readonly changes: ChangeLog,
    private readonly logged: NewestLogged,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {
    this.rows = leases.rows('workspace_scan');
  }

  /** What is late by then is found by the next process. */
  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** Ends a comparison with the first half of another. */
  async advance(scan: Scan, seconds: number, background: boolean): Promise<Required<Settled>> {
    const writer = { type: scan.writer_type, id: scan.writer_id };
    const next = await this.begin(scan.workspace_id, writer, seconds, background);
    const seen = await Snapshot.read(this.fileOf(next.id));
    const { changes } = await this.settle(scan, seen).catch(async (error: unknown) => {
      await this.giveUp(next, error);
      throw error;
    });
    const { from_seq: settled_seq } = await this.moment(scan.workspace_id);
    return { changes, next: { scan: { ...next, settled_seq }, folders: seen.folders() } };
  }

  async begin(workspaceId: string, writer: Writer, seconds: number, background = false): Promise<Scan> {
    const id = newId();
    this.active.add(id);
    try {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      // Before the tree is looked at: what is recorded from here on may be missing in the snapshot.
      const since = await this.moment(workspaceId);
      await Snapshot.save(this.folders.pathOf({ id: workspaceId }), this.fileOf(id));
      const runId = writer.type === 'run' ? writer.id : null;
      const { rows } = await sql<Scan>`
        insert into workspace_scan
          (id, workspace_id, writer_type, writer_id, run_id, holder, from_seq, started_at, deadline, background)
        values (${id}, ${workspaceId}, ${writer.type}, ${writer.id}, ${runId}::uuid, ${this.leases.processId},
          ${since.from_seq}, ${since.started_at}::timestamptz, now() + ${seconds + GRACE_SECONDS} * interval '1 second', ${background})
        returning *`.execute(this.database.tables());
      const [scan] = rows;
      if (!scan) throw new Error('A row that was inserted was not returned');
      return scan;
    } catch (error) {
      this.active.delete(id);
      await rm(this.fileOf(id), { force: true });
      throw error;
    }
  }

  private async moment(workspaceId: string): Promise<Pick<Scan, 'from_seq' | 'started_at'>> {
    const { rows } = await sql<Pick<Scan, 'from_seq' | 'started_at'>>`
      select ${newestChange(workspaceId)} as from_seq, now()::timestamptz(3) as started_at`.execute(
      this.database.tables(),
    );
    const [row] = rows;
    if (!row) throw new Error('A statement that gives one row gave none');
    return row;
  }

  /**
   * Compares, records and forgets; all of it again where it was cut short. Takes the time that background work has: what
   * a command did is recorded whoever waits for it.
   */
  settle(scan: Scan, seen?: Snapshot): Promise<Settled> {
    return withQueryDeadline(QUERY_MS, () => this.settleNow(scan, seen));
  }

  private async settleNow(scan: Scan, seen?: Snapshot): Promise<Settled> {
    const { id, workspace_id, writer_type, writer_id } = scan;
    try {
      const differences = await this.compare(scan, seen);
      const changes = await this.recording.run(workspace_id, async () => {
        // What others wrote meanwhile is in the log.
        const own = await this.logged.missing(workspace_id, differences, scan);
        await this.changes.record(workspace_id, { type: writer_type, id: writer_id }, own);
        return own;
      });
      await sql`delete from workspace_scan where id = ${id}`.execute(this.database.tables());
      await rm(this.fileOf(id), { force: true });
      return { changes };
    } finally {
      this.active.delete(id);
    }
  }

  private async compare({ id, workspace_id, started_at }: Scan, seen?: Snapshot): Promise<Difference[]> {
    const root = this.folders.pathOf({ id: workspace_id });
    const before = await Snapshot.read(this.fileOf(id));
    if (before.count <= MOST_COMPARED) return await before.changesTo(seen ?? (await Snapshot.take(root)));
    const changed = await Snapshot.take(root, Date.parse(started_at));
    return changed.all().map(change => ({ ...change, kind: 'modified' }));
  }

  async recover(where: ReturnType<typeof sql<unknown>>): Promise<void> {
    const { rows } = await sql<Scan>`select * from workspace_scan where ${where} order by id`.execute(
      this.database.tables(),
    );
    for (const scan of rows)
      if (!this.active.has(scan.id) && !this.late.has(scan.id)) await this.recoverOne(scan);
  }

  /** Those of processes that are gone, and what this one could not end; of several processes, one does it. */
  async recoverOrphaned(): Promise<void> {
    const busy = [...this.active, ...this.late.keys()];
    const { rows } = await sql<Scan>`
      update workspace_scan set ${this.rows.claimed}
      where ${this.rows.isOrphaned} or (${this.rows.isOurs} and id <> all(${busy}::uuid[]))
      returning *`.execute(this.database.tables());
    for (const scan of rows) await this.recoverOne(scan);
  }

  /** Those that a process of the version before left on this machine. */
  async recoverOld(): Promise<void> {
    const { rows } = await sql<Scan>`select * from workspace_scan where holder is null`.execute(
      this.database.tables(),
    );
    for (const scan of rows) if (hasEndedHere(scan.host, scan.pid)) await this.recoverOne(scan);
  }

  private async recoverOne(scan: Scan): Promise<void> {
    try {
      await this.settle(scan);
    } catch (error) {
      if (isOutage(error)) throw error;
      await this.giveUp(scan, error);
    }
  }

  /** Has a comparison whose end failed made again, until it succeeds or can never be made. */
  settleLater(scan: Scan, error: unknown): void {
    this.log.warn(
      { err: error, workspace_id: scan.workspace_id },
      'what a command changed is recorded later',
    );
    this.late.set(scan.id, scan);
    this.timer ??= setTimeout(() => void this.settleLate(), LATER_MS).unref();
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

  /** Without its first half a comparison can never be made. */
  async giveUp(scan: Scan, error: unknown): Promise<void> {
    this.active.delete(scan.id);
    this.log.warn({ err: error, workspace_id: scan.workspace_id }, 'what a command changed cannot be told');
    await sql`delete from workspace_scan where id = ${scan.id}`.execute(this.database.tables());
    await rm(this.fileOf(scan.id), { force: true });
  }

  /** First halves of comparisons that nobody knows of: of processes that ended before they had entered them. */
  async removeStrays(): Promise<void> {
    const files = await readdir(this.folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const { rows } = await sql<{ id: string }>`select id::text as id from workspace_scan`.execute(
      this.database.tables(),
    );
    const known = new Set(rows.map(({ id }) => id));
    for (const name of files) {
      const stats = await stat(this.fileOf(name)).catch(() => undefined); // it may be gone by now
      if (!stats || known.has(name) || Date.now() - stats.mtimeMs < STRAY_MS) continue;
      await rm(this.fileOf(name), { force: true });
    }
  }

  private get folder(): string {
    return path.resolve(this.config.dataDir, 'scans');
  }

  private fileOf(id: string): string {
    return path.join(this.folder, id);
  }
}
