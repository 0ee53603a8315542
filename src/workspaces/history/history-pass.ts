import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Log } from '../../platform/log/index.js';
import { type DueTimer, DueTimers } from '../../platform/schedule/index.js';
import { COALESCE_MS } from '../changes/index.js';
import { GitStore } from './git-store.js';
import { HistoryCapture } from './history-capture.js';
import { HistoryTrimStore } from './history-trim.store.js';

/** Each commit costs several processes, so changes are captured together. Who reads the history does not wait for it. */
const EVERY_MS = 5000;
/** A little longer than writes coalesce, so that they become one version. */
const SETTLED_MS = COALESCE_MS + 200;
const MAX_AT_ONCE = 100;
/** How long a workspace that failed is left alone. */
const RETRY_MS = 60_000;

/** Captures what has changed in all workspaces, every few seconds. Processes exclude each other by workspace. */
@Injectable()
export class HistoryPass implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: DueTimer | undefined;
  private readonly running = new Map<string, Promise<void>>();
  private readonly failed = new Map<string, number>();
  private isStopping = false;

  constructor(
    private readonly config: Config,
    private readonly timers: DueTimers,
    private readonly store: HistoryTrimStore,
    private readonly capture: HistoryCapture,
    private readonly git: GitStore,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs || this.config.retentionDays.history === 0) return;
    this.timer = this.timers.start({
      take: () => this.start(),
      next: async () => EVERY_MS,
      failure: 'looking for changes to capture failed; trying again',
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.timer?.close();
    await Promise.all(this.running.values());
  }

  /** Waits for none: a workspace with many changes does not hold up the others. */
  private async start(): Promise<0> {
    if ((await this.git.fault()) !== null) return 0;
    const room = MAX_AT_ONCE - this.running.size;
    if (room <= 0) return 0;
    for (const [id, until] of this.failed) if (until < Date.now()) this.failed.delete(id);
    const busy = [...this.running.keys(), ...this.failed.keys()];
    for (const id of await this.store.behind(SETTLED_MS, busy, room))
      this.running.set(id, this.captureOne(id));
    return 0;
  }

  private async captureOne(id: string): Promise<void> {
    try {
      while ((await this.capture.unlessBusy(id)) && !this.isStopping);
    } catch (error) {
      this.failed.set(id, Date.now() + RETRY_MS);
      this.log.warn({ err: error, workspace_id: id }, 'a history is behind; trying again');
    } finally {
      this.running.delete(id);
    }
  }
}
