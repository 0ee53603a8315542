import { Injectable } from '@nestjs/common';
import { BackgroundWatch } from '#libs/background-watch/index.js';
import { Log } from '../../platform/log/index.js';
import { WorkspaceFolders } from '../core/index.js';
import type { Change } from './change.js';
import { ChangeLogStore } from './change-log.store.js';
import { RecordedWrites } from './recorded-writes.js';
import { isUnknownYet, Scans, type Settled } from './scans.js';
import { type Scan, ScansStore } from './scans.store.js';
import { WorkspaceQuota } from './workspace-quota.js';
import type { Writer } from './writer.js';

/** A sandbox that runs commands in turn; what they started goes on between them. */
export interface LastingSandbox {
  runsOn(): boolean;
  /** Calls `settle` when everything in it has ended, before that is reported. */
  whenEnded(settle: () => Promise<void>): void;
  kill(): void;
}

/** What runs in a sandbox between commands, and the comparison that covers it. */
interface Background {
  scan: Scan;
  readonly watch: BackgroundWatch;
}

/** How long a comparison may cover a sandbox between commands; each change begins a new one. */
const BACKGROUND_SECONDS = 7 * 24 * 60 * 60;

/**
 * Finds what commands did to files: by comparing the tree before and after. The snapshot from before is on disk while a
 * command runs: when the process dies, its command dies with it, and another process compares, or this one before the
 * run's next command. Between commands, each comparison begins with the snapshot of the one before: soon after an event,
 * before the next command, and when the sandbox has ended.
 */
@Injectable()
export class SandboxWatch {
  private readonly background = new WeakMap<LastingSandbox, Background>();

  constructor(
    private readonly folders: WorkspaceFolders,
    private readonly changes: ChangeLogStore,
    private readonly writes: RecordedWrites,
    private readonly scans: Scans,
    private readonly rows: ScansStore,
    private readonly quota: WorkspaceQuota,
    private readonly log: Log,
  ) {}

  /**
   * Runs a command of at most `seconds`; returns its result and its changes, which are in the log then. Null: they are
   * not known yet, and logged later.
   */
  async around<T>(
    workspaceId: string,
    writer: Writer,
    seconds: number,
    command: () => Promise<T>,
    sandbox?: LastingSandbox,
  ): Promise<{ result: T; changes: Change[] | null }> {
    if (writer.type === 'run') await this.scans.recoverRun(workspaceId, writer.id);
    await this.writes.catchUp(workspaceId);
    await this.changes.beforeCommand(workspaceId, writer);
    const scan =
      (sandbox && (await this.takeOver(sandbox, seconds))) ??
      (await this.scans.begin(workspaceId, writer, seconds));
    const outcome = await command().then(
      result => ({ result }),
      (error: unknown) => ({ error }),
    );
    const { changes = null, next } = await this.end(scan, sandbox?.runsOn() ?? false);
    if (sandbox && next) await this.watchBackground(sandbox, next);
    if ('error' in outcome) throw outcome.error;
    return { result: outcome.result, changes };
  }

  private async end(scan: Scan, goesOn: boolean): Promise<Partial<Settled>> {
    try {
      return await (goesOn
        ? this.scans.advanceOrSettle(scan, BACKGROUND_SECONDS, true)
        : this.scans.settle(scan));
    } catch (error) {
      this.scans.settleLater(scan, error);
      if (isUnknownYet(error)) return {};
      throw error;
    }
  }

  private async watchBackground(
    sandbox: LastingSandbox,
    { scan, folders }: Required<Settled>['next'],
  ): Promise<void> {
    // A concurrent command has ended a moment before.
    if (this.background.has(sandbox)) return void (await this.scans.settle(scan));
    const watch = new BackgroundWatch(
      this.folders.pathOf({ id: scan.workspace_id }),
      () => this.look(background, sandbox),
      error =>
        this.log.warn(
          { err: error, workspace_id: scan.workspace_id },
          'the changes of a sandbox are recorded later',
        ),
    );
    const background: Background = { scan, watch };
    this.background.set(sandbox, background);
    watch.start(folders);
    sandbox.whenEnded(() => this.finish(sandbox));
  }

  /** Records the changes; null while commands run, whose changes cannot be distinguished. */
  private async look(
    background: Background,
    sandbox: LastingSandbox,
  ): Promise<ReadonlyMap<string, string> | null> {
    const { workspace_id } = background.scan;
    if (await this.rows.hasCommand(workspace_id)) return null;
    const { changes, next } = await this.scans.advance(background.scan, BACKGROUND_SECONDS, true);
    background.scan = next.scan;
    if (changes.length > 0 && (await this.quota.excess(workspace_id)) !== null) sandbox.kill();
    return next.folders;
  }

  /** Ends the comparison of the time between commands, and begins that of a command. */
  private async takeOver(sandbox: LastingSandbox, seconds: number): Promise<Scan | undefined> {
    const scan = await this.stopBackground(sandbox);
    if (!scan) return undefined;
    try {
      return (await this.scans.advance(scan, seconds, false)).next.scan;
    } catch (error) {
      this.scans.settleLater(scan, error);
      return undefined;
    }
  }

  private async finish(sandbox: LastingSandbox): Promise<void> {
    const scan = await this.stopBackground(sandbox);
    if (scan) await this.scans.settle(scan).catch((error: unknown) => this.scans.settleLater(scan, error));
  }

  private async stopBackground(sandbox: LastingSandbox): Promise<Scan | undefined> {
    const background = this.background.get(sandbox);
    this.background.delete(sandbox);
    await background?.watch.close();
    return background?.scan;
  }
}

/** Short against the time in which a command fills a disk. */
const MIN_PAUSE_MS = 500;
const PAUSE_FACTOR = 20;

/** Measures, while a command runs, whether its workspace holds too much. */
export class QuotaGuard {
  /** Why the command must end; undefined while it may run. */
  refusal: string | undefined;
  private readonly exceeded = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private released = false;

  constructor(
    private readonly quota: WorkspaceQuota,
    private readonly workspaceId: string,
    /** What its sandboxes hold in deleted files that are still open. */
    private readonly unlinkedBytes: () => number,
  ) {
    this.wait(MIN_PAUSE_MS);
  }

  get signal(): AbortSignal {
    return this.exceeded.signal;
  }

  release(): void {
    this.released = true;
    clearTimeout(this.timer);
  }

  private wait(ms: number): void {
    if (!this.released) this.timer = setTimeout(() => void this.look(), ms).unref();
  }

  private async look(): Promise<void> {
    const started = performance.now();
    // The measurement after the command reports that failure.
    const excess = await this.quota.excess(this.workspaceId, this.unlinkedBytes()).catch(() => null);
    if (excess === null)
      return this.wait(Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (performance.now() - started)));
    this.refusal = `Killed: ${excess}`;
    this.exceeded.abort();
  }
}
