import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { Config } from '../../../platform/config/index.js';
import { Log } from '../../../platform/log/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { changesTopic } from '../../../workspaces/changes/index.js';
import { AUTOMATION_TRIGGERS } from '../../automation/index.js';
import { ChangeReader } from './change-reader.js';
import { FilesStore } from './files.store.js';

/** Workspaces that a process reads at once. */
const AT_ONCE = 4;
const RETRY_MS = 1000;

/** Has the log of a workspace read when something changes there, for as long as a live deployment has a file trigger. */
@Injectable()
export class ChangeWatch implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly watched = new Map<string, Watched>();
  private readonly turns = new ConcurrencyLimit(AT_ONCE);
  private unsubscribe = () => {};
  private reloading: Promise<void> | undefined;
  private isReloadWanted = false;
  private isClosed = false;

  constructor(
    private readonly config: Config,
    private readonly files: FilesStore,
    private readonly reader: ChangeReader,
    private readonly topics: Topics,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.unsubscribe = this.topics.subscribe(AUTOMATION_TRIGGERS, () => this.reload());
    this.reload();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isClosed = true;
    this.unsubscribe();
    await this.reloading;
    await Promise.all([...this.watched.values()].map(one => one.close()));
  }

  private reload(): void {
    this.isReloadWanted = true;
    this.reloading ??= this.load().finally(() => {
      this.reloading = undefined;
      if (this.isReloadWanted && !this.isClosed) setTimeout(() => this.reload(), RETRY_MS).unref();
    });
  }

  private async load(): Promise<void> {
    while (this.isReloadWanted && !this.isClosed) {
      this.isReloadWanted = false;
      try {
        await this.watch(new Set(await this.files.workspaces()));
      } catch (error) {
        this.log.warn({ err: error }, 'the workspaces with file triggers are not known; trying again');
        this.isReloadWanted = true;
        return;
      }
    }
  }

  private async watch(ids: ReadonlySet<string>): Promise<void> {
    for (const [id, watched] of this.watched)
      if (!ids.has(id)) {
        this.watched.delete(id);
        await watched.close();
      }
    for (const id of ids)
      if (!this.watched.has(id)) this.watched.set(id, new Watched(this.topics, id, () => this.read(id)));
  }

  private async read(workspaceId: string): Promise<number | null> {
    try {
      return await this.turns.run(() => this.reader.read(workspaceId));
    } catch (error) {
      this.log.warn(
        { err: error, workspace_id: workspaceId },
        'changes were not read for file triggers; trying again',
      );
      return RETRY_MS;
    }
  }
}

/** One workspace: read when it changes, and when the numbers of its newest changes are due. */
class Watched {
  private readonly unsubscribe: () => void;
  private working: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isWanted = false;
  private isClosed = false;

  constructor(
    topics: Topics,
    workspaceId: string,
    private readonly read: () => Promise<number | null>,
  ) {
    this.unsubscribe = topics.subscribe(changesTopic(workspaceId), () => this.wake());
    this.wake();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.unsubscribe();
    clearTimeout(this.timer);
    await this.working;
  }

  private wake(): void {
    this.isWanted = true;
    // A change that waits for its number needs no look before that.
    if (this.timer === undefined) this.working ??= this.work();
  }

  private async work(): Promise<void> {
    let wait: number | null = null;
    while (this.isWanted && !this.isClosed) {
      this.isWanted = false;
      wait = await this.read();
    }
    this.working = undefined;
    if (wait === null || this.isClosed) return;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.wake();
      },
      Math.max(1, wait),
    ).unref();
  }
}
