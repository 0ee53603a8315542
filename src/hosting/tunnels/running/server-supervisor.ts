import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { type DueTimer, DueTimers } from '../../../platform/schedule/index.js';
import { type InstanceRow, InstancesStore } from '../records/instances.store.js';
import { serversTopic } from '../records/servers.store.js';
import { Instance, InstanceTools } from './instance.js';
import { RunningServers } from './running-servers.js';

const UNKNOWN_MS = 5_000;
const MOVED = { state: 'starting', reason: 'It moves to another process of the service.' } as const;

/** Claims and runs servers in this process, and gives them up at shutdown. */
@Injectable()
export class ServerSupervisor implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly runs = new Set<Promise<void>>();
  /** Instances held according to the database, but not run here, by when that was noticed. */
  private unknown = new Map<string, number>();
  private timer: DueTimer | undefined;
  private isOpen = false;

  constructor(
    private readonly config: Config,
    private readonly leases: Leases,
    private readonly timers: DueTimers,
    private readonly log: Log,
    private readonly instances: InstancesStore,
    private readonly running: RunningServers,
    private readonly tools: InstanceTools,
  ) {}

  onModuleInit(): void {
    if (!this.runsServers) return;
    this.leases.recover('server', async () => {
      await this.instances.endLost();
      await this.releaseUnknown();
      this.timer?.wake();
    });
  }

  onApplicationBootstrap(): void {
    if (!this.runsServers) return;
    this.isOpen = true;
    this.timer = this.timers.start({
      topic: serversTopic(),
      take: () => this.claim(),
      next: async () => {
        const seconds = await this.instances.secondsToRetry();
        return seconds === undefined ? undefined : seconds * 1000;
      },
      failure: 'servers could not be claimed',
    });
  }

  /** Servers end here, and are started elsewhere. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isOpen = false;
    for (const instance of this.running.all) instance.stop(MOVED);
    await Promise.all(this.runs);
  }

  private get runsServers(): boolean {
    return this.config.runsJobs && this.config.serverLimits.process > 0;
  }

  private async claim(): Promise<number> {
    if (!this.isOpen || this.running.count >= this.config.serverLimits.process) return 0;
    await this.leases.requireFresh();
    const row = await this.instances.claim();
    if (!row) return 0;
    this.run(row);
    return 1;
  }

  private run(row: InstanceRow): void {
    const instance = new Instance(row, this.tools);
    this.running.add(instance);
    if (!this.isOpen) instance.stop(MOVED);
    const run = instance
      .run()
      .catch((error: unknown) =>
        this.log.error({ err: error, server_id: row.server_id }, 'a server could not be run'),
      )
      .finally(() => {
        this.running.remove(instance);
        this.runs.delete(run);
        this.timer?.wake();
      });
    this.runs.add(run);
  }

  /** A lost answer to a claim leaves an instance that nobody runs. */
  private async releaseUnknown(): Promise<void> {
    const now = performance.now();
    const unknown = (await this.instances.ours()).filter(({ id }) => !this.running.find(id));
    this.unknown = new Map(unknown.map(({ id }) => [id, this.unknown.get(id) ?? now]));
    for (const row of unknown) {
      if (now - (this.unknown.get(row.id) ?? now) < UNKNOWN_MS) continue;
      await this.instances.end(row, null, MOVED);
    }
  }
}
