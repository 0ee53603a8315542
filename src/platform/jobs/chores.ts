import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { sql } from 'kysely';
import { withQueryDeadline } from '#libs/resilient-postgres/index.js';
import { Config } from '../config/index.js';
import { CHORE_QUERY_MS, Database } from '../database/index.js';
import { providerMethods } from '../discovery/index.js';
import { type LeasedRows, Leases } from '../leases/index.js';
import { Log } from '../log/index.js';
import { type DueTimer, DueTimers } from '../schedule/index.js';

/** How soon a chore that is new to an installation runs, at the latest. */
const FIRST_SECONDS = 60;
/** A time further away was written while the clock of the database was wrong. */
const MAX_AHEAD_MS = 15 * 60_000;
const MAX_AT_ONCE = 2;
const CHORE = Symbol('chore');

interface Chore {
  /** What the database remembers it by: never change it. */
  readonly name: string;
  readonly everyMs: number;
}

/** Runs the method every `everyMs`, in one process of all. Running it twice must be harmless. */
export const Chore =
  (name: string, { everyMs }: { everyMs: number }) =>
  (_target: object, _key: string, { value }: { value?: () => Promise<void> }): void => {
    if (value) Reflect.defineMetadata(CHORE, { name, everyMs } satisfies Chore, value);
  };

/**
 * Runs the chores when they are due, by the clock of the database alone. A due time further away than the interval was
 * written while that clock was wrong: such a chore is due at once.
 */
@Injectable()
export class Chores implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly chores = new Map<string, Chore & { work: () => Promise<void> }>();
  private readonly running = new Map<string, Promise<void>>();
  private readonly rows: LeasedRows;
  private timer: DueTimer | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly timers: DueTimers,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {
    this.rows = leases.rows('chore');
  }

  onModuleInit(): void {
    for (const { instance, method } of providerMethods(this.discovery, this.scanner)) {
      const chore: Chore | undefined = Reflect.getMetadata(CHORE, method);
      if (!chore) continue;
      if (this.chores.has(chore.name)) throw new Error(`Two methods are the chore ${chore.name}`);
      this.chores.set(chore.name, { ...chore, work: () => method.call(instance) as Promise<void> });
    }
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.runsJobs) return;
    await sql`
      insert into chore (name, due_at)
      select name, now() + least(every_ms, ${FIRST_SECONDS * 1000}) * interval '1 millisecond' from ${this.listed()}
      on conflict do nothing`.execute(this.database.tables());
    this.timer = this.timers.start({
      take: () => this.start(),
      next: () => this.untilNext(),
      failure: 'looking for due chores failed; trying again',
    });
    this.leases.recover('chore', async () => this.timer?.wake());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.timer?.close();
    await Promise.all(this.running.values());
  }

  async run(name: string): Promise<void> {
    await withQueryDeadline(CHORE_QUERY_MS, async () => this.chores.get(name)?.work());
  }

  /** Starts chores that are due, as many as there is room for; returns how many. */
  private async start(): Promise<number> {
    const names = await this.claimDue();
    for (const name of names) this.running.set(name, this.perform(name));
    return names.length;
  }

  private async claimDue(): Promise<string[]> {
    const room = MAX_AT_ONCE - this.running.size;
    if (room <= 0) return [];
    await this.leases.requireFresh();
    const { rows } = await sql<{ name: string }>`
      with due as (
        select chore.name, every_ms from chore join ${this.listed()} using (name)
        where chore.name <> all(${[...this.running.keys()]}::text[]) and (${this.rows.isFree} or ${this.rows.isOurs})
          and (due_at <= now() or due_at > now() + greatest(every_ms, ${MAX_AHEAD_MS}) * interval '1 millisecond')
        order by due_at limit ${room} for update of chore skip locked
      )
      update chore set ${this.rows.claimed}
      from due where chore.name = due.name returning chore.name`.execute(this.database.tables());
    return rows.map(({ name }) => name);
  }

  /** Where there is no room, the end of a chore wakes the timer. */
  private async untilNext(): Promise<number | undefined> {
    if (this.running.size >= MAX_AT_ONCE) return undefined;
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from min(due_at) - now())::float8 * 1000 as ms from chore join ${this.listed()} using (name)
      where chore.name <> all(${[...this.running.keys()]}::text[]) and (${this.rows.isFree} or ${this.rows.isOurs})`.execute(
      this.database.tables(),
    );
    return rows[0]?.ms ?? undefined;
  }

  private async perform(name: string): Promise<void> {
    try {
      await this.run(name);
    } catch (error) {
      this.log.error({ err: error, chore: name }, 'a chore failed; it runs again when it is due');
    }
    try {
      await sql`
        update chore set due_at = now() + every_ms * interval '1 millisecond', ${this.rows.released}
        from ${this.listed()} where chore.name = listed.name and chore.name = ${name} and ${this.rows.isOurs}`.execute(
        this.database.tables(),
      );
    } catch (error) {
      this.log.warn({ err: error, chore: name }, 'saving the end of a chore failed; it runs again sooner');
    }
    this.running.delete(name);
    this.timer?.wake();
  }

  private listed() {
    const chores = [...this.chores.values()];
    const names = chores.map(({ name }) => name);
    const intervals = chores.map(({ everyMs }) => everyMs);
    return sql`unnest(${names}::text[], ${intervals}::float8[]) as listed (name, every_ms)`;
  }
}
