import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import type { BeforePlacing } from '#libs/workspace-fs/index.js';
import { beforeSideEffect, isOutage, newId } from '../../platform/database/index.js';
import { Log } from '../../platform/log/index.js';
import { type Change, ChangeLog } from './change-log.js';
import { type Intent, manifestOf, type Target } from './intent.js';
import { IntentRecovery } from './intent-recovery.js';
import { WriteIntents } from './write-intents.js';
import type { Writer } from './writer.js';

/** How long what was written waits for the database, before the answer is given. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 250;
/** How often it is tried again after that. */
const LATER_MS = 2000;

/** What a write does before anything can be seen of it. */
export interface Beginning {
  /** Enters what may change; what is there is in the history then. Throws where it could not be entered: nothing may be written. */
  begin(targets: readonly Target[]): Promise<void>;
  /** The same for one file, as a hook of the write. */
  readonly beforePlacing: BeforePlacing;
}

/** What came of a write. */
export interface Done<T> {
  readonly result: T;
  readonly changes: readonly Change[];
}

/**
 * Every write to a workspace but those of commands. What is about to change is in the database before, and there it stays
 * until the change is in the log: whatever happens in between, and whoever comes next, finds it there.
 */
@Injectable()
export class RecordedWrites implements OnApplicationShutdown {
  /** Written, while the database was away: by workspace, those that are not recorded yet. */
  private readonly late = new Map<string, Map<string, () => Promise<void>>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly changes: ChangeLog,
    private readonly intents: WriteIntents,
    private readonly recovery: IntentRecovery,
    private readonly log: Log,
  ) {}

  /** What is late by then is found by the next process. */
  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /**
   * Runs `write`, which calls `begin` before it changes anything, and records its changes; where it fails, what came of it
   * nevertheless. Resolves when the write is done, and recorded unless the database is away for long.
   */
  async run<T>(
    workspaceId: string,
    writer: Writer,
    write: (beginning: Beginning) => Promise<Done<T>>,
  ): Promise<T> {
    let intent: Intent | undefined;
    const begin = async (targets: readonly Target[]) => {
      intent = await this.begin(workspaceId, writer, targets);
    };
    try {
      const { result, changes } = await write({ begin, beforePlacing: forOneFile(begin) });
      if (intent) await this.settle(intent, changes);
      return result;
    } catch (error) {
      const begun = intent;
      if (begun) await this.inTime(begun, () => this.recovery.recover(begun), 0);
      throw error;
    }
  }

  /** When it returns, no write that is over is missing in the log of a workspace. */
  async catchUp(workspaceId: string): Promise<void> {
    await this.settleLate(workspaceId);
    await this.recovery.recoverLost(workspaceId);
  }

  private async begin(workspaceId: string, writer: Writer, targets: readonly Target[]): Promise<Intent> {
    beforeSideEffect();
    await this.settleLate(workspaceId);
    const id = newId();
    try {
      const { intent, isAtRisk, isCrossed } = await this.intents.begin(id, workspaceId, writer, targets);
      const recovered = isCrossed ? await this.recovery.recoverLost(workspaceId) : 0;
      if (isAtRisk || recovered > 0) await this.changes.keep(workspaceId);
      return intent;
    } catch (error) {
      // It may have been entered all the same, and nothing is written.
      await this.inTime({ id, workspace_id: workspaceId }, () => this.intents.remove(id), 0);
      throw error;
    }
  }

  private async settle(intent: Intent, changes: readonly Change[]): Promise<void> {
    const { workspace_id, writer_type, writer_id } = intent;
    const record = async () => {
      const writer = { type: writer_type, id: writer_id };
      // Else it was recorded by a statement whose answer was lost, or by others who took this process for lost.
      if (!(await this.changes.record(workspace_id, writer, changes, intent)))
        await this.recovery.recover(intent, changes);
    };
    await this.inTime(intent, record, PATIENCE_MS);
  }

  /** Does it now or, where the database is away for longer, when it is back. */
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
    this.timer ??= setTimeout(() => void this.settleAll(), LATER_MS).unref();
  }

  private async settleAll(): Promise<void> {
    this.timer = undefined;
    try {
      for (const workspaceId of this.late.keys()) await this.settleLate(workspaceId);
    } catch (error) {
      this.log.warn({ err: error }, 'writes are not recorded yet');
      this.timer ??= setTimeout(() => void this.settleAll(), LATER_MS).unref();
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

/** What is to be entered of a write is known when the file is ready to appear. */
function forOneFile(begin: Beginning['begin']): BeforePlacing {
  return (after, before) =>
    begin([{ path: after.path, etag: after.etag ?? undefined, before: manifestOf(before ? [before] : []) }]);
}
