import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { DueTimers } from '../../../platform/schedule/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { ServerLogs } from '../logs/server-logs.js';
import { type InstanceRow, InstancesStore } from '../records/instances.store.js';
import { ServersStore, serversTopic } from '../records/servers.store.js';
import { Instance, type InstanceTools } from './instance.js';
import { ServerActions } from './server-actions.js';
import { ServerLinks } from './server-links.js';
import { ServerPrograms } from './server-programs.js';

/** Of one round. */
const CLAIMED = 1;
const UNKNOWN_MS = 5_000;
const MOVED = { state: 'starting', reason: 'It moves to another process of the service.' } as const;

/** Runs servers in this process: claims those that are to run and that no process runs, and gives them up with it. */
@Injectable()
export class ServerKeeper implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly running = new Map<string, { instance: Instance; ended: Promise<void> }>();
  /** Claimed by the database, and not run here: since when. */
  private unknown = new Map<string, number>();
  private readonly tools: InstanceTools;
  private timer: ReturnType<DueTimers['start']> | undefined;
  private isOpen = false;

  constructor(
    private readonly config: Config,
    private readonly leases: Leases,
    private readonly timers: DueTimers,
    database: Database,
    topics: Topics,
    private readonly log: Log,
    servers: ServersStore,
    private readonly instances: InstancesStore,
    programs: ServerPrograms,
    logs: ServerLogs,
    actions: ServerActions,
    private readonly links: ServerLinks,
  ) {
    this.tools = { config, database, topics, log, servers, instances, programs, logs, actions };
  }

  onModuleInit(): void {
    if (!this.runsServers) return;
    this.leases.recover('server', async () => {
      await this.tools.database.transaction(unit => this.instances.endLost(unit));
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

  /** Its servers end, and are begun elsewhere. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isOpen = false;
    for (const { instance } of this.running.values()) instance.stop(MOVED);
    await Promise.all(Array.from(this.running.values(), ({ ended }) => ended));
  }

  find(instanceId: string): Instance | undefined {
    return this.running.get(instanceId)?.instance;
  }

  private get runsServers(): boolean {
    return this.config.runsJobs && this.config.serversPerWorker > 0;
  }

  private async claim(): Promise<number> {
    if (!this.isOpen || this.running.size >= this.config.serversPerWorker) return 0;
    await this.leases.requireFresh();
    const row = await this.instances.claim();
    if (!row) return 0;
    this.run(row);
    return CLAIMED;
  }

  private run(row: InstanceRow): void {
    const instance = new Instance(row, this.tools);
    const ended = instance
      .run(this.links.address(this))
      .catch((error: unknown) =>
        this.log.error({ err: error, server_id: row.server_id }, 'a server could not be run'),
      )
      .finally(() => {
        this.running.delete(row.id);
        this.timer?.wake();
      });
    this.running.set(row.id, { instance, ended });
    if (!this.isOpen) instance.stop(MOVED);
  }

  /** Where the answer to a claim was lost, this process has a server without knowing. */
  private async releaseUnknown(): Promise<void> {
    const now = performance.now();
    const unknown = (await this.instances.ours()).filter(({ id }) => !this.running.has(id));
    this.unknown = new Map(unknown.map(({ id }) => [id, this.unknown.get(id) ?? now]));
    for (const row of unknown) {
      if (now - (this.unknown.get(row.id) ?? now) < UNKNOWN_MS) continue;
      await this.tools.database.transaction(unit => this.instances.end(unit, row, null, MOVED));
    }
  }
}
