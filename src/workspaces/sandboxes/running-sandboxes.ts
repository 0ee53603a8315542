import { hostname } from 'node:os';
import { BeforeApplicationShutdown, Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import type { SandboxUsage } from '#libs/sandbox/index.js';
import { Database, newId } from '../../platform/database/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { Maintenance } from '../../platform/maintenance/index.js';
import { Metrics } from '../../platform/metrics/index.js';
import { Signals } from '../../platform/topics/index.js';

const LEASE_SECONDS = 60;
const RENEW_MS = 20_000;
const TIDY_MS = 60_000;
/** How old what is told of memory and CPU may be. */
const MEASURE_MS = 5000;
/** Longest command that is shown, in characters. */
const MOST_SHOWN = 500;

export const SANDBOX_KINDS = ['command', 'session'] as const;
export const SANDBOX_CALLERS = ['run', 'tool', 'service'] as const;

/** For what a sandbox runs: an agent's run, a person's own use of a tool, or the service itself. */
export interface SandboxCaller {
  kind: (typeof SANDBOX_CALLERS)[number];
  id: string | null;
}

export interface RunningSandboxRow {
  id: string;
  name: string | null;
  command: string;
  caller_kind: SandboxCaller['kind'];
  caller_id: string | null;
  kind: (typeof SANDBOX_KINDS)[number];
  node: string;
  started_at: string;
  memory_bytes: string | null;
  cpu_ms: string | null;
  processes: number | null;
}

/** Looks at what it uses now. */
export type Gauge = () => SandboxUsage;

interface Started {
  workspaceId: string;
  command: string;
  caller: SandboxCaller;
  kind: RunningSandboxRow['kind'];
  signal: AbortSignal | undefined;
  /** Where it has a name: what was got for it. */
  claim?: NameClaim;
}

/** The row of a sandbox that is to have a name. */
interface NameClaim {
  readonly id: string;
  /** Gives it up, where nothing came of it. */
  release(): Promise<void>;
}

interface Shown {
  readonly workspaceId: string;
  readonly stop: AbortController;
  gauge?: Gauge;
}

const topicOf = (processId: string) => `sandboxes:${processId}`;

/**
 * What runs now, in any process. Each process keeps the rows of its own, without its commands waiting for that, and ends
 * those that it is asked to.
 */
@Injectable()
export class RunningSandboxes implements OnModuleInit, BeforeApplicationShutdown {
  private readonly processId = newId();
  private readonly own = new Map<string, Shown>();
  private readonly writes = new Set<Promise<unknown>>();
  private renewal: NodeJS.Timeout | undefined;
  private measurement: NodeJS.Timeout | undefined;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly signals: Signals,
    private readonly leases: Leases,
    private readonly maintenance: Maintenance,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    metrics.gauge({ name: 'atelier_sandboxes_running', help: 'Sandboxes that run in this process.' }, () => [
      { labels: {}, value: this.own.size },
    ]);
  }

  onModuleInit(): void {
    this.maintenance.every(TIDY_MS, 'forget_lost_sandboxes', () => this.forgetLost());
    this.unsubscribe = this.signals.subscribe(topicOf(this.processId), () => this.write(this.endRequested()));
    this.renewal = setInterval(() => this.write(this.renew()), RENEW_MS).unref();
    this.measurement = setInterval(() => this.write(this.measure()), MEASURE_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.renewal);
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
    const measuredBy = (gauge: Gauge): void => {
      own.gauge = gauge;
    };
    const shown = this.write(started.claim ? this.endRequested() : this.insert(id, started));
    try {
      const ends = [stop.signal, this.leases.signal, ...(started.signal ? [started.signal] : [])];
      return await work(AbortSignal.any(ends), measuredBy);
    } finally {
      this.own.delete(id);
      this.write(shown.then(() => this.remove(id)));
    }
  }

  /** Enters a sandbox of a name before there is one; 409 where the caller has one of this name in another process. */
  async claim(started: Started, name: string): Promise<NameClaim> {
    const id = newId();
    if (!(await this.insert(id, started, name)))
      throw new Conflict(
        `The session ${name} is held by another process of the service, which did not get this call; end it, or use another name`,
      );
    return { id, release: () => this.remove(id) };
  }

  /** Those of a workspace, oldest first. */
  async list(workspaceId: string, after: string | undefined, limit: number): Promise<RunningSandboxRow[]> {
    const { rows } = await sql<RunningSandboxRow>`
      select id, name, command, kind, caller_kind, caller_id, node, started_at, memory_bytes, cpu_ms, processes
      from running_sandbox
      where workspace_id = ${workspaceId} and alive_until > now() and (${after ?? null}::uuid is null or id > ${after ?? null})
      order by id limit ${limit}`.execute(this.database.tables());
    return rows.map(row => ({ ...row, ...this.usageNow(row.id) }));
  }

  /** Bytes on a device in files that are gone, and that sandboxes of a workspace in this process still have open. */
  unlinkedBytes(workspaceId: string, device: bigint): number {
    let bytes = 0;
    for (const { workspaceId: of, gauge } of this.own.values())
      if (of === workspaceId) bytes += gauge?.().unlinkedBytes(device) ?? 0;
    return bytes;
  }

  /** Asks the process that holds it to end it, or all of the workspace; false if there is no such sandbox. */
  end(workspaceId: string, id: string | null): Promise<boolean> {
    return this.database.transaction(async unit => {
      const { rows } = await sql<{ process_id: string }>`
        update running_sandbox set stop_requested = true
        where id = coalesce(${id}::uuid, id) and workspace_id = ${workspaceId} and alive_until > now()
        returning process_id`.execute(unit.tables());
      for (const process of new Set(rows.map(({ process_id }) => process_id)))
        await this.signals.notify(unit, topicOf(process));
      return rows.length > 0;
    });
  }

  /** False where the name is taken; what this process has under it has ended, and is replaced. Where it is turned off, it ends. */
  private async insert(
    id: string,
    { workspaceId, command, caller, kind }: Started,
    name: string | null = null,
  ): Promise<boolean> {
    const shown = command.length > MOST_SHOWN ? `${command.slice(0, MOST_SHOWN)}…`.toWellFormed() : command;
    const { rows } = await sql<{ stop_requested: boolean }>`
      with place as (
        select 'sandbox' = any(features_off) as is_closed from workspace where id = ${workspaceId} for key share)
      insert into running_sandbox
        (id, workspace_id, process_id, node, command, kind, caller_kind, caller_id, name, started_at, alive_until, stop_requested)
      select ${id}::uuid, ${workspaceId}::uuid, ${this.processId}::uuid, ${hostname()}, ${shown}, ${kind}, ${caller.kind},
        ${caller.id}::uuid, ${name}, now(), now() + ${LEASE_SECONDS} * interval '1 second', is_closed from place
      on conflict (workspace_id, caller_id, name) where name is not null do update
        set id = excluded.id, process_id = excluded.process_id, node = excluded.node, command = excluded.command,
          started_at = excluded.started_at, alive_until = excluded.alive_until, stop_requested = excluded.stop_requested,
          memory_bytes = null, cpu_ms = null, processes = null
        where running_sandbox.process_id = excluded.process_id or running_sandbox.alive_until < now()
      returning stop_requested`.execute(this.database.tables());
    if (rows[0]?.stop_requested) this.own.get(id)?.stop.abort();
    return rows.length > 0;
  }

  private async remove(id: string): Promise<void> {
    await sql`delete from running_sandbox where id = ${id}`.execute(this.database.tables());
  }

  private async renew(): Promise<void> {
    if (this.own.size === 0) return;
    await sql`
      update running_sandbox set alive_until = now() + ${LEASE_SECONDS} * interval '1 second'
      where process_id = ${this.processId}`.execute(this.database.tables());
    // A signal may have been lost with its connection.
    await this.endRequested();
  }

  /** Of one that runs here, where it has been handed over. */
  private usageNow(id: string): Partial<RunningSandboxRow> {
    const usage = this.own.get(id)?.gauge?.();
    if (!usage) return {};
    return {
      memory_bytes: String(usage.memory_bytes),
      cpu_ms: String(Math.round(usage.cpu_ms)),
      processes: usage.processes,
    };
  }

  /** For those who ask other processes. */
  private async measure(): Promise<void> {
    const rows = [...this.own.keys()].flatMap(id => {
      const usage = this.usageNow(id);
      return usage.memory_bytes === undefined ? [] : [{ id, ...usage }];
    });
    if (rows.length === 0) return;
    await sql`
      update running_sandbox as shown
      set memory_bytes = measured.memory_bytes, cpu_ms = measured.cpu_ms, processes = measured.processes
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as measured(id uuid, memory_bytes bigint, cpu_ms bigint, processes int)
      where shown.id = measured.id`.execute(this.database.tables());
  }

  private async endRequested(): Promise<void> {
    const { rows } = await sql<{ id: string }>`
      select id from running_sandbox where process_id = ${this.processId} and stop_requested`.execute(
      this.database.tables(),
    );
    for (const { id } of rows) this.own.get(id)?.stop.abort();
  }

  private async forgetLost(): Promise<void> {
    await sql`delete from running_sandbox where alive_until < now()`.execute(this.database.tables());
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
