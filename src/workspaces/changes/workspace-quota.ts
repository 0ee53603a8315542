import { Injectable } from '@nestjs/common';
import { Snapshot, TEMPORARY_MAKER } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { dryRun } from '../../platform/database/index.js';
import { Problem } from '../../platform/errors/index.js';
import { UnfinishedWrites, WorkspaceFolders } from '../core/index.js';
import { StoredElsewhere } from '../metering/index.js';
import { ChangeLog } from './change-log.store.js';

/** There is no room for a write: 413 for bytes, 409 for the number of files. Says how much the workspace holds. */
export class NoRoom extends Problem {}

interface Amount {
  bytes: number;
  /** Folders count as well: they take room on the disk, and time to look through. */
  files: number;
}

interface Usage extends Amount {
  /** How many of the bytes are not in its folder. */
  readonly elsewhere: number;
  readonly freshUntil: number;
  /** What is in it of writes that ended while it was measured, and may be counted twice. */
  readonly doubtful: Amount;
  /** Whether no write ended meanwhile. */
  readonly isSure: boolean;
}

/** Room that is kept for a write. */
export interface KeptRoom {
  /** The same bytes, for which more room is kept as they come; they break off (413) where there is none. */
  within(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** A measurement is believed this long, and fifty times as long as it took. */
const FRESH_MS = 10_000;
/** So often is it measured, where others release room meanwhile, before a write is refused. */
const MAX_MEASUREMENTS = 5;

/**
 * How much a workspace may hold. What is written through this process is added up at once, and counts while it is being
 * written, too; what others write is seen at the next measurement, so that a workspace may come to hold somewhat more. A
 * refusal always rests on a new measurement.
 */
@Injectable()
export class WorkspaceQuota {
  private readonly known = new Map<string, Usage>();
  /** What is being written has room, and no measurement sees it yet. */
  private readonly underWay = new Map<string, Set<Amount>>();
  /** For each measurement that goes on: what was released meanwhile, which it may have seen or missed. */
  private readonly measuring = new Map<string, Set<Amount[]>>();

  constructor(
    private readonly config: Config,
    private readonly folders: WorkspaceFolders,
    private readonly elsewhere: StoredElsewhere,
    private readonly unfinished: UnfinishedWrites,
    changes: ChangeLog,
  ) {
    // Something was done to it: what is believed holds no longer than it takes to ask.
    changes.onRecorded(id => this.expire(id));
  }

  /** Room for what is to be written, or a refusal with the figures: 413 for bytes, 409 for the number of files. */
  async require(workspaceId: string, more: Amount): Promise<void> {
    await this.admit(workspaceId, more, () => undefined);
  }

  /** Runs `write` if there is room for `more`, which is kept for it until it has ended; else the refusals of {@link require}. */
  async during<T>(workspaceId: string, more: Amount, write: (kept: KeptRoom) => Promise<T>): Promise<T> {
    const amount = { ...more };
    await this.admit(workspaceId, more, () => this.keep(workspaceId, amount));
    try {
      return await write({ within: source => this.within(workspaceId, amount, source) });
    } finally {
      this.release(workspaceId, amount);
    }
  }

  /** What is too much in it, by a new measurement and with what it holds `besides`, in bytes; null where nothing is. */
  async excess(workspaceId: string, besides = 0): Promise<string | null> {
    const { maxWorkspaceBytes, maxWorkspaceFiles } = this.config;
    const usage = await this.measure(workspaceId);
    // Without what may have been counted twice: nothing is killed for that.
    const files = usage.files - usage.doubtful.files;
    const bytes = usage.bytes - usage.doubtful.bytes + besides;
    if (bytes > maxWorkspaceBytes)
      return `the workspace holds ${bytes} bytes${ofThem(usage)}, and may hold ${maxWorkspaceBytes}; delete something first.`;
    if (files > maxWorkspaceFiles)
      return `the workspace holds ${files} files, and may hold ${maxWorkspaceFiles}; delete something first.`;
    return null;
  }

  /** What may still be written. */
  async room(workspaceId: string): Promise<Amount> {
    const { bytes, files } = await this.usage(workspaceId);
    const { maxWorkspaceBytes, maxWorkspaceFiles } = this.config;
    return { bytes: Math.max(0, maxWorkspaceBytes - bytes), files: Math.max(0, maxWorkspaceFiles - files) };
  }

  /** What is known of it no longer holds: a command may have written anything. */
  forget(workspaceId: string): void {
    this.known.delete(workspaceId);
  }

  private async *within(
    workspaceId: string,
    amount: Amount,
    source: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      const bytes = chunk.byteLength;
      await this.admit(workspaceId, { bytes, files: 0 }, () => {
        amount.bytes += bytes;
      });
      yield chunk;
    }
  }

  /** `admitted` runs in the same turn as the decision: a measurement sees both or neither. */
  private async admit(workspaceId: string, more: Amount, admitted: () => void): Promise<void> {
    const fits = ({ bytes, files }: Usage) =>
      bytes + more.bytes <= this.config.maxWorkspaceBytes &&
      files + more.files <= this.config.maxWorkspaceFiles;
    let usage = await this.usage(workspaceId);
    for (let times = 0; !fits(usage) && times < MAX_MEASUREMENTS; times++) {
      const measured = await this.measure(workspaceId);
      // That of another may be newer.
      usage = this.known.get(workspaceId) ?? measured;
      if (measured.isSure) break;
    }
    if (!fits(usage)) this.refuse(usage, more);
    if (dryRun()) return;
    usage.bytes += more.bytes;
    usage.files += more.files;
    admitted();
  }

  private keep(workspaceId: string, amount: Amount): void {
    const all = this.underWay.get(workspaceId) ?? new Set();
    this.underWay.set(workspaceId, all.add(amount));
  }

  private release(workspaceId: string, amount: Amount): void {
    const all = this.underWay.get(workspaceId);
    all?.delete(amount);
    if (all?.size === 0) this.underWay.delete(workspaceId);
    for (const released of this.measuring.get(workspaceId) ?? []) released.push(amount);
  }

  private async usage(workspaceId: string): Promise<Usage> {
    const known = this.known.get(workspaceId);
    return known && known.freshUntil > Date.now() ? known : this.measure(workspaceId);
  }

  private async measure(workspaceId: string): Promise<Usage> {
    const released: Amount[] = [];
    const all = this.measuring.get(workspaceId) ?? new Set();
    this.measuring.set(workspaceId, all.add(released));
    try {
      return await this.measureBeside(workspaceId, released);
    } finally {
      all.delete(released);
      if (all.size === 0) this.measuring.delete(workspaceId);
    }
  }

  /** What is `released` meanwhile counts although it may have been seen: then the measurement is not sure, and soon repeated. */
  private async measureBeside(workspaceId: string, released: readonly Amount[]): Promise<Usage> {
    const started = Date.now();
    const snapshot = await this.look(workspaceId);
    const elsewhere = await this.elsewhere.bytesOf(workspaceId);
    const { bytes, files, folders } = snapshot.totals();
    const hidden = snapshot.allHidden();
    const now = Date.now();
    const doubtful = sumOf(released);
    const soon = this.keptFor(workspaceId, snapshot.hiddenBy(TEMPORARY_MAKER));
    const usage = {
      bytes: bytes + elsewhere + hidden.bytes + soon.bytes + doubtful.bytes,
      files: files + folders + hidden.files + soon.files + doubtful.files,
      elsewhere,
      doubtful,
      isSure: released.length === 0,
      freshUntil: released.length === 0 ? now + Math.max(FRESH_MS, 50 * (now - started)) : now,
    };
    this.forgetStale(now);
    this.known.set(workspaceId, usage);
    return usage;
  }

  private async look(workspaceId: string): Promise<Snapshot> {
    const root = this.folders.pathOf({ id: workspaceId });
    const seen = await Snapshot.take(root);
    const removed = dryRun() ? 0 : await this.unfinished.sweepForged(workspaceId, seen.makers());
    return removed > 0 ? Snapshot.take(root) : seen;
  }

  /**
   * The room that is kept for what is under way, besides what lies in temporary files of this process already. Of those
   * that are to replace a file none is kept: fewer than no files, as the temporary ones will be gone.
   */
  private keptFor(workspaceId: string, begun: Amount): Amount {
    const kept = { bytes: -begun.bytes, files: -begun.files };
    for (const { bytes, files } of this.underWay.get(workspaceId) ?? []) {
      kept.bytes += bytes;
      kept.files += files;
    }
    return { bytes: Math.max(0, kept.bytes), files: kept.files };
  }

  private expire(workspaceId: string): void {
    const { maxWorkspaceBytes, maxWorkspaceFiles } = this.config;
    const known = this.known.get(workspaceId);
    if (!known) return;
    // Far from the limit, the sum is good enough.
    if (known.bytes > maxWorkspaceBytes / 2 || known.files > maxWorkspaceFiles / 2)
      this.known.delete(workspaceId);
  }

  private forgetStale(now: number): void {
    for (const [id, { freshUntil }] of this.known) if (freshUntil < now) this.known.delete(id);
  }

  private refuse(usage: Usage, more: Amount): never {
    const { maxWorkspaceBytes, maxWorkspaceFiles } = this.config;
    if (usage.bytes + more.bytes > maxWorkspaceBytes)
      throw new NoRoom(
        413,
        `The workspace holds ${usage.bytes} of the ${maxWorkspaceBytes} bytes it may have${ofThem(usage)}, and this takes ${more.bytes} more; delete something first`,
      );
    throw new NoRoom(
      409,
      `The workspace holds ${usage.files} of the ${maxWorkspaceFiles} files and folders it may have, and this makes ${more.files} more; delete something first`,
    );
  }
}

const sumOf = (amounts: readonly Amount[]): Amount => ({
  bytes: amounts.reduce((sum, { bytes }) => sum + bytes, 0),
  files: amounts.reduce((sum, { files }) => sum + files, 0),
});

const ofThem = ({ elsewhere }: Usage): string =>
  elsewhere > 0 ? ` (${elsewhere} of them attached to messages of its chats)` : '';
