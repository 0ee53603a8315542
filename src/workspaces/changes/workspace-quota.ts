import { Injectable } from '@nestjs/common';
import { Snapshot, TEMPORARY_MAKER } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { dryRun } from '../../platform/database/index.js';
import { Problem } from '../../platform/errors/index.js';
import { UnfinishedWrites, WorkspaceFolders } from '../core/index.js';
import { ChangeLog } from './change-log.store.js';

/** Bytes of workspaces outside of their folders: features that keep some there register a count. */
@Injectable()
export class StoredElsewhere {
  private readonly counts: ((workspaceId: string) => Promise<number>)[] = [];

  add(count: (workspaceId: string) => Promise<number>): void {
    this.counts.push(count);
  }

  async bytesOf(workspaceId: string): Promise<number> {
    const all = await Promise.all(this.counts.map(count => count(workspaceId)));
    return all.reduce((sum, bytes) => sum + bytes, 0);
  }
}

/** There is no room for a write: 413 for bytes, 409 for the number of files. */
export class NoRoom extends Problem {}

interface Amount {
  bytes: number;
  /** Folders count as well: they use disk and time. */
  files: number;
}

interface Usage extends Amount {
  /** Bytes outside of its folder. */
  readonly elsewhere: number;
  readonly freshUntil: number;
  /** Writes that ended during the measurement, and may be counted twice. */
  readonly doubtful: Amount;
  readonly isSure: boolean;
}

export interface KeptRoom {
  /** The same bytes, reserving more room as they come; breaks off (413) where there is none. */
  within(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

const FRESH_MS = 10_000;
/** Before a refusal, it measures so often while others release room. */
const MAX_MEASUREMENTS = 5;

/**
 * How much a workspace may hold. Writes of this process count at once, also while they run; those of others from the next
 * measurement on, so that a workspace may come to hold somewhat more. A refusal always rests on a new measurement.
 */
@Injectable()
export class WorkspaceQuota {
  private readonly known = new Map<string, Usage>();
  /** Reserved by writes under way, which no measurement sees yet. */
  private readonly underWay = new Map<string, Set<Amount>>();
  /** By measurement: what was released meanwhile, which it may have seen or missed. */
  private readonly measuring = new Map<string, Set<Amount[]>>();

  constructor(
    private readonly config: Config,
    private readonly folders: WorkspaceFolders,
    private readonly elsewhere: StoredElsewhere,
    private readonly unfinished: UnfinishedWrites,
    changes: ChangeLog,
  ) {
    changes.onRecorded(id => this.expire(id));
  }

  /** Throws NoRoom with the figures. */
  async require(workspaceId: string, more: Amount): Promise<void> {
    await this.admit(workspaceId, more, () => undefined);
  }

  /** Runs `write` with `more` reserved for it; throws as {@link require}. */
  async during<T>(workspaceId: string, more: Amount, write: (kept: KeptRoom) => Promise<T>): Promise<T> {
    const amount = { ...more };
    await this.admit(workspaceId, more, () => this.keep(workspaceId, amount));
    try {
      return await write({ within: source => this.within(workspaceId, amount, source) });
    } finally {
      this.release(workspaceId, amount);
    }
  }

  /** What is over the limit by a new measurement, plus `besides` bytes; null: nothing. */
  async excess(workspaceId: string, besides = 0): Promise<string | null> {
    const { maxWorkspaceBytes, maxWorkspaceFiles } = this.config;
    const usage = await this.measure(workspaceId);
    // Without doubtful amounts: nothing is killed for those.
    const files = usage.files - usage.doubtful.files;
    const bytes = usage.bytes - usage.doubtful.bytes + besides;
    if (bytes > maxWorkspaceBytes)
      return `the workspace holds ${bytes} bytes${ofThem(usage)}, and may hold ${maxWorkspaceBytes}; delete something first.`;
    if (files > maxWorkspaceFiles)
      return `the workspace holds ${files} files, and may hold ${maxWorkspaceFiles}; delete something first.`;
    return null;
  }

  async room(workspaceId: string): Promise<Amount> {
    const { bytes, files } = await this.usage(workspaceId);
    const { maxWorkspaceBytes, maxWorkspaceFiles } = this.config;
    return { bytes: Math.max(0, maxWorkspaceBytes - bytes), files: Math.max(0, maxWorkspaceFiles - files) };
  }

  /** Invalidates the measurement: a command may have written anything. */
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

  /** Counts what is `released` meanwhile although it may have been seen; such a result is soon measured again. */
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
   * What is reserved, minus temporary files of this process. Replacing a file reserves none: then less than no files, as
   * the temporary ones will be gone.
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
    if (known && (known.bytes > maxWorkspaceBytes / 2 || known.files > maxWorkspaceFiles / 2))
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
