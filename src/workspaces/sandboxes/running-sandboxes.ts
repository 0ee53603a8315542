import { BeforeApplicationShutdown, Injectable, OnModuleInit } from '@nestjs/common';
import type { SandboxUsage } from '#libs/sandbox/index.js';
import { newId } from '../../platform/database/index.js';
import { type Page, type PageInput } from '../../platform/dto/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { Metrics } from '../../platform/metrics/index.js';
import { NotHere } from '../../platform/rpc/index.js';
import { Topics } from '../../platform/topics/index.js';
import {
  type NewSandbox,
  RunningSandboxesStore,
  type RunningSandboxRow,
  sandboxesTopic,
} from './running-sandboxes.store.js';

const MEASURE_MS = 5000;

export type Gauge = () => SandboxUsage;

interface Started extends NewSandbox {
  readonly signal: AbortSignal | undefined;
  /** Aborted when another process may take the work over; that of the leases of this process unless given. */
  readonly lease?: AbortSignal;
  readonly claim?: NameClaim;
}

/** A row that reserves a name. */
export interface NameClaim {
  readonly id: string;
  release(): Promise<void>;
}

/** Another process has the caller's session of this name. */
export class SessionElsewhere extends NotHere {
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
 * The sandboxes that run now, in any process. Each process keeps its own rows up to date in the background, and ends
 * those that others ask it to.
 */
@Injectable()
export class RunningSandboxes implements OnModuleInit, BeforeApplicationShutdown {
  private readonly own = new Map<string, Shown>();
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
    this.leases.recover('sandbox', () =>
      this.store.removeOrphaned(id => this.own.has(id) || this.claimed.has(id)),
    );
    const topic = sandboxesTopic(this.leases.processId);
    this.unsubscribe = this.topics.subscribe(topic, () => this.write(this.endRequested()));
    this.measurement = setInterval(() => this.write(this.measure()), MEASURE_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.measurement);
    this.unsubscribe?.();
    await Promise.all(this.writes);
  }

  /** Lists `work` while it runs; others can end it through the signal. Its usage shows once it hands over its gauge. */
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
      const ends = [
        stop.signal,
        started.lease ?? this.leases.signal,
        ...(started.signal ? [started.signal] : []),
      ];
      return await work(AbortSignal.any(ends), measuredBy);
    } finally {
      this.own.delete(id);
      this.write(shown.then(() => this.store.remove(id)));
    }
  }

  /** Reserves a name; throws {@link SessionElsewhere}. */
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

  async list(workspaceId: string, input: PageInput): Promise<Page<RunningSandboxRow>> {
    const page = await this.store.list(workspaceId, input);
    return { ...page, items: page.items.map(row => ({ ...row, ...this.usageNow(row.id) })) };
  }

  /** Throws {@link SessionElsewhere} where another process has `name`. */
  async sessionsOf(workspaceId: string, callerId: string, name: string): Promise<string[]> {
    const sessions = await this.store.sessionsOf(workspaceId, callerId);
    const holder = sessions.find(session => session.name === name)?.process_id;
    if (holder !== undefined && holder !== this.leases.processId) throw new SessionElsewhere(holder);
    return sessions.map(session => session.name);
  }

  /** Bytes in deleted files that sandboxes of this process still have open. */
  unlinkedBytes(workspaceId: string, device: bigint): number {
    let bytes = 0;
    for (const { workspaceId: of, gauge } of this.own.values())
      if (of === workspaceId) bytes += gauge?.().unlinkedBytes(device) ?? 0;
    return bytes;
  }

  /** False if there is none. */
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

  /** Writes in the background; a failure costs a line in a list, not a command. */
  private write(writing: Promise<unknown>): Promise<unknown> {
    const settled: Promise<unknown> = writing
      .catch((error: unknown) => this.log.warn({ err: error }, 'the list of sandboxes is behind'))
      .finally(() => this.writes.delete(settled));
    this.writes.add(settled);
    return settled;
  }
}
