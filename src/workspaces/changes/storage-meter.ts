import { execFile } from 'node:child_process';
import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { enterStorage } from '../../identity/billing/index.js';
import { Database } from '../../platform/database/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { StoredElsewhere } from './stored-elsewhere.js';

const BATCH = 100;
const TIMEOUT_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;
/** Twice an hour, so that a late chore misses none. */
const LOOK_MS = HOUR_MS / 2;

type Unmeasured = Awaited<ReturnType<WorkspacesStore['unmeasured']>>;

/** Enters the storage of each workspace into the usage ledger, once an hour; idempotent. */
@Injectable()
export class StorageMeter implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();

  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly elsewhere: StoredElsewhere,
    private readonly log: Log,
  ) {}

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('The service is stopping'));
  }

  @Chore('measure_storage', { everyMs: LOOK_MS })
  measure(): Promise<void> {
    return this.measureAll(new Date());
  }

  async measureAll(now: Date): Promise<void> {
    const hour = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);
    let after: string | null = null;
    do {
      const workspaces: Unmeasured = await this.workspaces.unmeasured(hour, after, BATCH);
      for (const workspace of workspaces) {
        this.stopping.signal.throwIfAborted();
        await this.measureOne(workspace, hour);
      }
      after = workspaces.at(-1)?.id ?? null;
    } while (after !== null);
  }

  private async measureOne({ id, organization_id }: Unmeasured[number], hour: Date): Promise<void> {
    const onDisk = await diskUsage(this.folders.pathOf({ id }), this.stopping.signal);
    if (onDisk === undefined) return this.log.warn({ workspace_id: id }, 'a workspace could not be measured');
    const bytes = onDisk + (await this.elsewhere.bytesOf(id));
    await enterStorage(this.database, { organizationId: organization_id, workspaceId: id, hour, bytes });
  }
}

/**
 * Undefined where it is unknown. `du` follows no links, counts hard links once, runs in another process, and prints a sum
 * even when files vanish meanwhile.
 */
function diskUsage(folder: string, signal: AbortSignal): Promise<number | undefined> {
  return new Promise(resolve => {
    execFile('du', ['-skx', folder], { signal, timeout: TIMEOUT_MS }, (_complaint, stdout) => {
      const [, kibibytes] = /^(\d+)\s/.exec(stdout) ?? [];
      resolve(kibibytes === undefined ? undefined : Number(kibibytes) * 1024);
    });
  });
}
