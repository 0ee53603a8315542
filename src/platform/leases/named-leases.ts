import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, dryRun, type UnitOfWork } from '../database/index.js';
import { Unavailable } from '../errors/index.js';
import { defineTopic, Subscription, Topics } from '../topics/index.js';
import type { LeasedRows } from './leased-rows.js';
import { Leases } from './leases.js';

/** How long a caller waits for a lease that another holds. */
const MAX_WAIT_MS = 60_000;

const topicOf = defineTopic('lease');

/** A lease that this process holds. */
export interface NamedLease {
  readonly name: string;
  /** A number that is larger with each claim of any lease: what a lease protects can refuse smaller ones. */
  readonly fence: string;
  /** Aborted when this process may have lost it. */
  readonly signal: AbortSignal;
}

/** It is not held any more: this process was taken for lost, and another may hold it. */
export class LeaseLost extends Error {
  constructor({ name }: NamedLease) {
    super(`The lease ${name} was lost`);
  }
}

/** Leases of what has no row of its own, by a name. A claim is not entered twice, also not by the same process. */
@Injectable()
export class NamedLeases implements OnModuleInit {
  private readonly rows: LeasedRows;
  /** What this process holds or is about to claim, and how often. */
  private readonly known = new Map<string, number>();

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly leases: Leases,
  ) {
    this.rows = leases.rows('lease');
  }

  onModuleInit(): void {
    this.leases.recover('lease', () => this.releaseOrphaned());
  }

  /** Undefined where another holds it. */
  async claim(name: string): Promise<NamedLease | undefined> {
    await this.leases.requireFresh();
    const { signal, processId } = this.leases;
    this.count(name, 1);
    try {
      const { rows } = await sql<{ fence: string }>`
        insert into lease (name, holder) values (${name}, ${processId})
        on conflict (name) do update set holder = excluded.holder, fence = excluded.fence
        where ${this.rows.isFree} returning fence`.execute(this.database.tables());
      const [row] = rows;
      if (row) this.count(name, 1);
      return row && { name, fence: row.fence, signal };
    } finally {
      this.count(name, -1);
    }
  }

  /** Where the database is away, it is released when that is back. */
  async release({ name, fence }: NamedLease): Promise<void> {
    this.count(name, -1);
    await sql`delete from lease where name = ${name} and fence = ${fence}`.execute(this.database.tables());
    this.topics.publish(topicOf(name));
  }

  /** Keeps the lease until the transaction ends; throws LeaseLost where it is not held any more. */
  async require(unit: UnitOfWork, lease: NamedLease): Promise<void> {
    const { rows } = await sql`
      select 1 from lease where name = ${lease.name} and fence = ${lease.fence} for share`.execute(
      unit.tables(),
    );
    if (rows.length === 0) throw new LeaseLost(lease);
  }

  /**
   * Runs `work` while it holds the lease; waits for those before it, and is refused (503) after a minute. A dry run, which
   * changes nothing, does not wait.
   */
  async hold<T>(name: string, work: (lease: NamedLease) => Promise<T>): Promise<T> {
    if (dryRun()) return work({ name, fence: '0', signal: this.leases.signal });
    const lease = await this.waitFor(name);
    try {
      return await work(lease);
    } finally {
      await this.release(lease);
    }
  }

  private async releaseOrphaned(): Promise<void> {
    const forgotten = await this.rows.forgotten(this.database, name => this.known.has(name), { key: 'name' });
    const { rows } = await sql<{ name: string }>`
      delete from lease where ${this.rows.isOrphaned} or ${forgotten}
      returning name`.execute(this.database.tables());
    this.topics.publish(...rows.map(({ name }) => topicOf(name)));
  }

  private count(name: string, change: number): void {
    const count = (this.known.get(name) ?? 0) + change;
    if (count > 0) this.known.set(name, count);
    else this.known.delete(name);
  }

  private async waitFor(name: string): Promise<NamedLease> {
    const wakeUp = new Subscription(this.topics, topicOf(name));
    const late = AbortSignal.timeout(MAX_WAIT_MS);
    try {
      for (;;) {
        const lease = await this.claim(name);
        if (lease) return lease;
        if (late.aborted) throw new Unavailable('Others work on it for too long; try again later');
        await wakeUp.wait(late);
      }
    } finally {
      wakeUp.close();
    }
  }
}
