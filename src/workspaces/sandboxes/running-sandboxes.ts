import { BeforeApplicationShutdown, Injectable, OnModuleInit } from '@nestjs/common';
import type { SandboxUsage } from '#libs/sandbox/index.js';
import { ConcurrencyLimit } from '../../platform/concurrency/index.js';
import { Config } from '../../platform/config/index.js';
import { newId } from '../../platform/database/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { Metrics } from '../../platform/metrics/index.js';
import { NotHere } from '../../platform/rpc/index.js';
import { Topics } from '../../platform/topics/index.js';
import { WorkspacesStore } from '../core/index.js';
import {
  type NewSandbox,
  RunningSandboxesStore,
  type RunningSandboxRow,
  sandboxesTopic,
} from './running-sandboxes.store.js';

/** How old what is told of memory and CPU may be. */
const MEASURE_MS = 5000;

/** Looks at what it uses now. */
export type Gauge = () => SandboxUsage;

interface Started extends NewSandbox {
  readonly signal: AbortSignal | undefined;
  /** Where it has a name: what was got for it. */
  readonly claim?: NameClaim;
}

/** The row of a sandbox that is to have a name. */
export interface NameClaim {
  readonly id: string;
  /** Gives it up, where nothing came of it. */
  release(): Promise<void>;
}

/** Another process has the caller's session of this name. */
export class SessionElsewhere extends NotHere {
  /** @param processId absent: it was opened there a moment ago */
  constructor(readonly processId?: string) {
    super('The session is in another process');
  }
}

interface Shown {
  readonly workspaceId: string;
  readonly stop: AbortController;
  gauge?: Gauge;
}

/**
 * What runs now, in any process. Each process keeps the rows of its own, without its commands waiting for that, and ends
 * those that it is asked to.
 */
@Injectable()
export class RunningSandboxes implements OnModuleInit, BeforeApplicationShutdown {
  private readonly own = new Map<string, Shown>();
  /** Of names for which nothing runs yet. */
  private readonly claimed = new Set<string>();
  private readonly writes = new Set<Promise<unknown>>();
  private measurement: NodeJS.Timeout | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly store: RunningSandboxesStore,
    private readonly topics: Topics,
    private readonly leases: Leases,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    metrics.gauge({ name: 'atelier_sandboxes_running', help: 'Sandboxes that run in this process.' }, () => [
      { labels: {}, value: this.own.size },
    ]);
  }

  onModuleInit(): void {
    this.leases.recover('sandbox', () => this.store.removeOrphaned([...this.own.keys(), ...this.claimed]));
    const topic = sandboxesTopic(this.leases.processId);
    this.unsubscribe = this.topics.subscribe(topic, () => this.write(this.endRequested()));
    this.measurement = setInterval(() => this.write(this.measure()), MEASURE_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.measurement);
    this.unsubscribe?.();
    await Promise.all(this.writes);
  }

  /**
   * Runs `work`, which others see while it runs, and can end through the signal that it gets; what it uses is shown as
   * soon as it hands over its gauge.
   */
  async showing<T>(
    started: Started,
    work: (signal: AbortSignal, measuredBy: (gauge: Gauge) => void) => Promise<T>,
  ): Promise<T> {
    const id = started.claim?.id ?? newId();
    const stop = new AbortController();
    const own: Shown = { workspaceId: started.workspaceId, stop };
    this.own.set(id, own);
    this.claimed.delete(id);
    const measuredBy = (gauge: Gauge): void => {
      own.gauge = gauge;
    };
    const shown = this.write(started.claim ? this.endRequested() : this.add(id, started));
    try {
      const ends = [stop.signal, this.leases.signal, ...(started.signal ? [started.signal] : [])];
      return await work(AbortSignal.any(ends), measuredBy);
    } finally {
      this.own.delete(id);
      this.write(shown.then(() => this.store.remove(id)));
    }
  }

  /** Enters a sandbox of a name before there is one; throws {@link SessionElsewhere}. */
  async claim(started: NewSandbox, name: string): Promise<NameClaim> {
    const id = newId();
    await this.leases.requireFresh();
    this.claimed.add(id);
    try {
      if (!(await this.store.add(id, started, name))) throw new SessionElsewhere();
    } catch (error) {
      this.claimed.delete(id);
      throw error;
    }
    const release = async () => {
      this.claimed.delete(id);
      await this.store.remove(id);
    };
    return { id, release };
  }

  /** Those of a workspace, oldest first. */
  async list(workspaceId: string, after: string | undefined, limit: number): Promise<RunningSandboxRow[]> {
    const rows = await this.store.list(workspaceId, after, limit);
    return rows.map(row => ({ ...row, ...this.usageNow(row.id) }));
  }

  /** Names of the sessions that a caller has in a workspace; throws {@link SessionElsewhere} where another process has `name`. */
  async sessionsOf(workspaceId: string, callerId: string, name: string): Promise<string[]> {
    const sessions = await this.store.sessionsOf(workspaceId, callerId);
    const holder = sessions.find(session => session.name === name)?.process_id;
    if (holder !== undefined && holder !== this.leases.processId) throw new SessionElsewhere(holder);
    return sessions.map(session => session.name);
  }

  /** Bytes on a device in files that are gone, and that sandboxes of a workspace in this process still have open. */
  unlinkedBytes(workspaceId: string, device: bigint): number {
    let bytes = 0;
    for (const { workspaceId: of, gauge } of this.own.values())
      if (of === workspaceId) bytes += gauge?.().unlinkedBytes(device) ?? 0;
    return bytes;
  }

  /** Has one ended by the process that holds it, or all of the workspace; false if there is no such sandbox. */
  end(workspaceId: string, id: string | null): Promise<boolean> {
    return this.store.requestEnd(workspaceId, id);
  }

  private async add(id: string, started: NewSandbox): Promise<void> {
    const added = await this.store.add(id, started);
    if (added?.stop_requested) this.own.get(id)?.stop.abort();
  }

  private async endRequested(): Promise<void> {
    for (const id of await this.store.endRequested()) this.own.get(id)?.stop.abort();
  }

  /** Of one that runs here, where its gauge has been handed over. */
  private usageNow(id: string): Partial<RunningSandboxRow> {
    const usage = this.own.get(id)?.gauge?.();
    if (!usage) return {};
    return {
      memory_bytes: String(usage.memory_bytes),
      cpu_ms: String(Math.round(usage.cpu_ms)),
      processes: usage.processes,
    };
  }

  private async measure(): Promise<void> {
    const usages = [...this.own.keys()].flatMap(id => {
      const usage = this.usageNow(id);
      return usage.memory_bytes === undefined ? [] : [{ id, ...usage }];
    });
    if (usages.length > 0) await this.store.measure(usages);
  }

  /** A write that nobody waits for; that it failed costs a line in a list, not a command. */
  private write(writing: Promise<unknown>): Promise<unknown> {
    const settled: Promise<unknown> = writing
      .catch((error: unknown) => this.log.warn({ err: error }, 'the list of sandboxes is behind'))
      .finally(() => this.writes.delete(settled));
    this.writes.add(settled);
    return settled;
  }
}

/** How many sandboxes this process runs at once, so that one workspace or organization cannot take all of the machine. */
@Injectable()
export class SandboxSlots {
  private readonly ofWorkspace: ConcurrencyLimit;
  private readonly ofOrganization: ConcurrencyLimit;
  /** A workspace stays in its organization. */
  private readonly organizations = new Map<string, string>();

  constructor(
    config: Config,
    private readonly workspaces: WorkspacesStore,
  ) {
    this.ofWorkspace = new ConcurrencyLimit(config.sandboxesPerWorkspace, 'commands run in this workspace');
    this.ofOrganization = new ConcurrencyLimit(
      config.sandboxesPerOrganization,
      'commands run in the workspaces of this organization',
    );
  }

  /** A slot for a command or a session; resolves with what releases it. 429 where none is free in time. */
  async acquire(workspaceId: string, signal?: AbortSignal): Promise<() => void> {
    const organizationId = await this.organizationOf(workspaceId);
    const releaseWorkspace = await this.ofWorkspace.acquire({ key: workspaceId, signal });
    try {
      const releaseOrganization = await this.ofOrganization.acquire({ key: organizationId, signal });
      return () => {
        releaseOrganization();
        releaseWorkspace();
      };
    } catch (error) {
      releaseWorkspace();
      throw error;
    }
  }

  private async organizationOf(workspaceId: string): Promise<string> {
    const known = this.organizations.get(workspaceId);
    if (known) return known;
    const id = await this.workspaces.organizationOf(workspaceId);
    // Deleted meanwhile: the insert of its row finds out.
    if (!id) return workspaceId;
    if (this.organizations.size > 10_000) this.organizations.clear();
    this.organizations.set(workspaceId, id);
    return id;
  }
}
