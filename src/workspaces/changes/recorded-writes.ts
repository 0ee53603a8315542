import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import type { BeforePlacing } from '#libs/workspace-fs/index.js';
import { dryRun, newId } from '../../platform/database/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import type { Change } from './change.js';
import { ChangeLogStore } from './change-log.store.js';
import { type Intent, manifestOf, outcomeOf, replacedPaths, type Target } from './intent.js';
import { WriteIntentsStore } from './write-intents.store.js';
import type { Writer } from './writer.js';

/** How long an answer waits for the database to record a write. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 250;
const RETRY_MS = 2000;
/** Between looks whether writes of others have ended. */
const ENDED_PAUSE_MS = 50;

export interface Beginning {
  /** Enters the intent, and saves what is there to the history. Throws where that fails: nothing may be written. */
  begin(targets: readonly Target[]): Promise<void>;
  /** The same for one file, as a hook of the write. */
  readonly beforePlacing: BeforePlacing;
}

export interface Done<T> {
  readonly result: T;
  readonly changes: readonly Change[];
}

/**
 * Every write to a workspace but those of commands. Its intent is in the database before anything changes, and stays until
 * the changes are in the log. Recovery finds what became of writes whose process ended in between: at the start of a process,
 * when another is lost, and before the workspace's history is read or its files are overwritten.
 */
@Injectable()
export class RecordedWrites implements OnModuleInit, OnApplicationShutdown {
  /** Writes made while the database was away, by workspace. */
  private readonly late = new Map<string, Map<string, () => Promise<void>>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly changes: ChangeLogStore,
    private readonly intents: WriteIntentsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.leases.recover('write', async () => void (await this.recoverLost()));
  }

  /** The next process recovers what is late by then. */
  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /**
   * Runs `write`, which must call `begin` before it changes anything, and records its changes; when it fails, those that
   * happened nevertheless. Waits for a database that is away, but not for long.
   */
  async run<T>(
    workspaceId: string,
    writer: Writer,
    write: (beginning: Beginning) => Promise<Done<T>>,
  ): Promise<T> {
    let intent: Intent | undefined;
    const begin = async (targets: readonly Target[]) => {
      if (dryRun()) return;
      intent = await this.begin(workspaceId, writer, targets);
    };
    try {
      const { result, changes } = await write({ begin, beforePlacing: forOneFile(begin) });
      if (intent) await this.settle(intent, changes);
      return result;
    } catch (error) {
      const begun = intent;
      if (begun) await this.inTime(begun, () => this.recover(begun), 0);
      throw error;
    }
  }

  /** After this, the log has every write that has ended. */
  async catchUp(workspaceId: string): Promise<void> {
    await this.settleLate(workspaceId);
    await this.recoverLost(workspaceId);
  }

  /**
   * Waits until the writes under way at these paths, above or below them, are in the log, by whichever process; not for
   * long. False: some are not.
   */
  async ended(workspaceId: string, paths: readonly string[]): Promise<boolean> {
    if (paths.length === 0) return true;
    let open = new Set((await this.intents.touching(workspaceId, paths)).map(({ id }) => id));
    for (const end = Date.now() + PATIENCE_MS; open.size > 0; await sleep(ENDED_PAUSE_MS)) {
      if (Date.now() > end) return false;
      await this.catchUp(workspaceId);
      open = await this.intents.stillOpen(open);
    }
    return true;
  }

  private async begin(workspaceId: string, writer: Writer, targets: readonly Target[]): Promise<Intent> {
    await this.settleLate(workspaceId);
    const id = newId();
    try {
      const { intent, isAtRisk, isCrossed } = await this.intents.begin(id, workspaceId, writer, targets);
      const recovered = isCrossed ? await this.recoverLost(workspaceId) : 0;
      const replaced = replacedPaths(targets);
      if (replaced.length > 0 && (isAtRisk || recovered > 0)) await this.changes.keep(workspaceId, replaced);
      return intent;
    } catch (error) {
      // The insert may have succeeded.
      await this.inTime({ id, workspace_id: workspaceId }, () => this.intents.remove(id), 0);
      throw error;
    }
  }

  /** Returns how many there were. */
  private async recoverLost(workspaceId?: string): Promise<number> {
    const lost = await this.intents.lost(workspaceId);
    for (const intent of lost) await this.recover(intent);
    return lost.length;
  }

  /**
   * Records the changes of a write: `changes`, or else what is there now. Idempotent. Throws where the database cannot be
   * reached; gives up what cannot be known.
   */
  private async recover(intent: Intent, changes?: readonly Change[]): Promise<void> {
    const { id, workspace_id, writer_type, writer_id } = intent;
    try {
      const begun = await this.intents.find(id);
      if (!begun && !changes) return;
      const found = changes ?? (await this.outcome(intent));
      const missing = await this.changes.missing(workspace_id, found);
      await this.changes.record(workspace_id, { type: writer_type, id: writer_id }, missing, begun);
      if (missing.length > 0)
        this.log.info({ workspace_id, changes: missing.length }, 'a write was recorded late');
    } catch (error) {
      if (isOutage(error)) throw error;
      this.log.error({ err: error, workspace_id }, 'the changes of a write are lost');
      await this.intents.remove(id);
    }
  }

  private async outcome(intent: Intent): Promise<Change[]> {
    const workspace = await this.workspaces.folderOf(intent.workspace_id);
    return workspace ? outcomeOf(this.folders.open(workspace), intent) : [];
  }

  private async settle(intent: Intent, changes: readonly Change[]): Promise<void> {
    const { workspace_id, writer_type, writer_id } = intent;
    const record = async () => {
      const writer = { type: writer_type, id: writer_id };
      // It was recorded by a statement whose answer was lost, or by a process that took this one for dead.
      if (!(await this.changes.record(workspace_id, writer, changes, intent)))
        await this.recover(intent, changes);
    };
    await this.inTime(intent, record, PATIENCE_MS);
  }

  /** Runs `work` now or, after `patienceMs` without a database, when it is back. */
  private async inTime(
    { id, workspace_id }: Pick<Intent, 'id' | 'workspace_id'>,
    work: () => Promise<void>,
    patienceMs: number,
  ): Promise<void> {
    for (const end = Date.now() + patienceMs; ; await sleep(PAUSE_MS)) {
      try {
        return await work();
      } catch (error) {
        if (!isOutage(error)) throw error;
        if (Date.now() < end) continue;
        this.log.warn({ err: error, workspace_id }, 'a write is recorded when the database is back');
        this.postpone(workspace_id, id, work);
        return;
      }
    }
  }

  private postpone(workspaceId: string, id: string, work: () => Promise<void>): void {
    const late = this.late.get(workspaceId) ?? new Map<string, () => Promise<void>>();
    this.late.set(workspaceId, late.set(id, work));
    this.timer ??= setTimeout(() => void this.settleAll(), RETRY_MS).unref();
  }

  private async settleAll(): Promise<void> {
    this.timer = undefined;
    try {
      for (const workspaceId of this.late.keys()) await this.settleLate(workspaceId);
    } catch (error) {
      this.log.warn({ err: error }, 'writes are not recorded yet');
      this.timer ??= setTimeout(() => void this.settleAll(), RETRY_MS).unref();
    }
  }

  private async settleLate(workspaceId: string): Promise<void> {
    const late = this.late.get(workspaceId);
    if (!late) return;
    for (const [id, work] of late) {
      await work();
      late.delete(id);
    }
    if (late.size === 0) this.late.delete(workspaceId);
  }
}

/** Its target is known only when the file is complete. */
function forOneFile(begin: Beginning['begin']): BeforePlacing {
  return (after, before) =>
    begin([{ path: after.path, etag: after.etag ?? undefined, before: manifestOf(before ? [before] : []) }]);
}
