import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { QUERY_MS, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import { Snapshot, TEMPORARY_MAKER } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { dryRun } from '../../platform/database/index.js';
import { Log } from '../../platform/log/index.js';
import { UnfinishedWrites, WorkspaceFolders } from '../core/index.js';
import { LoggedGrowthStore } from './logged-growth.store.js';
import { type Amount, excessOf, noRoomFor, sumOf } from './no-room.js';
import { StoredElsewhere } from './stored-elsewhere.js';

interface Usage extends Amount {
  /** Bytes outside of its folder. */
  readonly elsewhere: number;
  freshUntil: number;
  /** What the measurement saw, without what this process writes, and what the log has added to it up to `seq`. */
  readonly base: Amount;
  seq: string;
  /** Writes that ended during the measurement, and may be counted twice. */
  readonly doubtful: Amount;
  readonly isSure: boolean;
}

export interface KeptRoom {
  /** The same bytes, reserving more room as they come; breaks off (413) where there is none. */
  within(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

const FRESH_MS = 10_000;
const FORGET_MS = 3_600_000;
/** Before a refusal, it measures so often while others release room. */
const MAX_MEASUREMENTS = 5;

/**
 * How much a workspace may hold. It is measured once, and again beside the writes. In between, those of this process count
 * at once; in one that is more than half full, all that the log has, without what was deleted. So it may come to hold more
 * by what other processes are writing, folders that these made, and what came behind the service's back since the last
 * measurement. A refusal always rests on a new one.
 */
@Injectable()
export class WorkspaceQuota {
  private readonly known = new Map<string, Usage>();
  /** Reserved by writes under way, which no measurement sees yet. */
  private readonly underWay = new Map<string, Set<Amount>>();
  /** By measurement: what was released meanwhile, which it may have seen or missed. */
  private readonly measuring = new Map<string, Set<Amount[]>>();
  private readonly behind = new Set<string>();
  private readonly limit = new ConcurrencyLimit(2);

  constructor(
    private readonly config: Config,
    private readonly folders: WorkspaceFolders,
    private readonly elsewhere: StoredElsewhere,
    private readonly unfinished: UnfinishedWrites,
    private readonly growth: LoggedGrowthStore,
    private readonly log: Log,
  ) {}

  /** Throws NoRoom with the figures. */
  async require(workspaceId: string, more: Amount): Promise<void> {
    await this.admit(workspaceId, more, () => undefined);
  }

  /**
   * Runs `write` with `more` reserved for it; throws as {@link require}. It is to end as soon as all is in its place, where
   * measurements see it: else they count it twice.
   */
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
    const { bytes, files, elsewhere, doubtful } = await this.measure(workspaceId);
    // Without doubtful amounts: nothing is killed for those.
    const held = { bytes: bytes - doubtful.bytes + besides, files: files - doubtful.files, elsewhere };
    return excessOf(held, this.config.workspaceLimits);
  }

  async room(workspaceId: string): Promise<Amount> {
    const { bytes, files } = await this.measure(workspaceId);
    const { workspaceLimits: most } = this.config;
    return { bytes: Math.max(0, most.bytes - bytes), files: Math.max(0, most.files - files) };
  }

  /** Has it measured again soon: a command may have deleted much. */
  expire(workspaceId: string): void {
    const known = this.known.get(workspaceId);
    if (known) known.freshUntil = Math.min(known.freshUntil, Date.now());
  }

  private async *within(
    workspaceId: string,
    amount: Amount,
    source: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      const bytes = chunk.byteLength;
      const known = this.known.get(workspaceId);
      const grow = () => {
        amount.bytes += bytes;
      };
      await this.admit(
        workspaceId,
        { bytes, files: 0 },
        grow,
        known && known.freshUntil > Date.now() ? known : undefined,
      );
      yield chunk;
    }
  }

  /** `admitted` runs in the same turn as the decision: a measurement sees both or neither. */
  private async admit(workspaceId: string, more: Amount, admitted: () => void, known?: Usage): Promise<void> {
    const fits = ({ bytes, files }: Usage) =>
      bytes + more.bytes <= this.config.workspaceLimits.bytes &&
      files + more.files <= this.config.workspaceLimits.files;
    let usage = known ?? (await this.usage(workspaceId));
    for (let times = 0; !fits(usage) && times < MAX_MEASUREMENTS; times++) {
      const measured = await this.measure(workspaceId);
      usage = this.known.get(workspaceId) ?? measured;
      if (measured.isSure) break;
    }
    if (!fits(usage)) throw noRoomFor(usage, more, this.config.workspaceLimits);
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
    if (!all?.delete(amount)) return;
    if (all.size === 0) this.underWay.delete(workspaceId);
    for (const released of this.measuring.get(workspaceId) ?? []) released.push(amount);
  }

  private async usage(workspaceId: string): Promise<Usage> {
    const known = this.known.get(workspaceId);
    if (!known) return this.measure(workspaceId);
    const isOld = known.freshUntil <= Date.now();
    if (isOld || this.isMoreThanHalf(known)) await this.addLogged(workspaceId, known);
    if (isOld) this.measureBehind(workspaceId);
    return this.known.get(workspaceId) ?? known;
  }

  private isMoreThanHalf({ bytes, files }: Usage): boolean {
    return bytes > this.config.workspaceLimits.bytes / 2 || files > this.config.workspaceLimits.files / 2;
  }

  private async addLogged(workspaceId: string, known: Usage): Promise<void> {
    const { seq } = known;
    const grown = await this.growth.since(workspaceId, seq);
    // Another call has added it.
    if (known.seq !== seq) return;
    const { bytes, files } = this.reserved(workspaceId);
    known.bytes = Math.max(known.bytes, known.base.bytes + grown.bytes + bytes);
    known.files = Math.max(known.files, known.base.files + grown.files + files);
    known.base.bytes += grown.settledBytes;
    known.base.files += grown.settledFiles;
    known.seq = grown.settledSeq;
  }

  private measureBehind(workspaceId: string): void {
    if (this.behind.has(workspaceId) || dryRun()) return;
    this.behind.add(workspaceId);
    this.limit
      .run(() => withQueryDeadline(QUERY_MS, () => this.measure(workspaceId)))
      .catch((error: unknown) => {
        this.known.delete(workspaceId);
        this.log.warn({ err: error, workspace_id: workspaceId }, 'a workspace was not measured again');
      })
      .finally(() => this.behind.delete(workspaceId));
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

  /**
   * Counts what is `released` meanwhile, and files that are reserved and not begun, although they may have been seen; such a
   * result is not sure, and is soon measured again where the workspace is more than half full: it tells of too much rather
   * than too little, and there is always a write under way in a busy workspace.
   */
  private async measureBeside(workspaceId: string, released: readonly Amount[]): Promise<Usage> {
    const started = Date.now();
    const seq = await this.growth.newest(workspaceId);
    const snapshot = await this.look(workspaceId);
    const elsewhere = await this.elsewhere.bytesOf(workspaceId);
    const { bytes, files, folders } = snapshot.totals();
    const hidden = snapshot.allHidden();
    const now = Date.now();
    const doubtful = sumOf(released);
    const begun = snapshot.hiddenBy(TEMPORARY_MAKER);
    const soon = this.keptFor(workspaceId, begun);
    const usage = {
      base: {
        bytes: bytes + elsewhere + hidden.bytes - begun.bytes,
        files: files + folders + hidden.files - begun.files,
      },
      seq,
      bytes: bytes + elsewhere + hidden.bytes + soon.bytes + doubtful.bytes,
      files: files + folders + hidden.files + soon.files + doubtful.files,
      elsewhere,
      doubtful,
      isSure: released.length === 0 && soon.files <= 0,
      freshUntil: now,
    };
    if (released.length === 0 || !this.isMoreThanHalf(usage))
      usage.freshUntil += Math.max(FRESH_MS, 50 * (now - started));
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
    const { bytes, files } = this.reserved(workspaceId);
    return { bytes: Math.max(0, bytes - begun.bytes), files: files - begun.files };
  }

  private reserved(workspaceId: string): Amount {
    return sumOf([...(this.underWay.get(workspaceId) ?? [])]);
  }

  private forgetStale(now: number): void {
    for (const [id, { freshUntil }] of this.known) if (freshUntil + FORGET_MS < now) this.known.delete(id);
  }
}
