import { BeforeApplicationShutdown, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../config/index.js';
import { CHORE_QUERY_MS, Database, withQueryDeadline } from '../database/index.js';
import { type LeasedRows, Leases } from '../leases/index.js';
import { Log } from '../log/index.js';

/** How often it is looked what is due. */
const LOOK_MS = 2_000;
/** How soon a chore that is new to an installation runs, at the latest. */
const FIRST_SECONDS = 60;
/** A time further away was written while the clock of the database was wrong. */
const MAX_AHEAD_MS = 15 * 60_000;
const MAX_AT_ONCE = 2;

interface Chore {
  name: string;
  everyMs: number;
  work: () => Promise<void>;
}

/**
 * What is to be done every so often, by one process of all: tidying up, mostly. Running a chore twice is harmless.
 *
 * When each is due stands in the database and is compared with the clock of the database alone. A time further away than
 * the chore's interval was written while that clock was wrong: such a chore is due at once.
 */
@Injectable()
export class Maintenance implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly chores = new Map<string, Chore>();
  private readonly running = new Map<string, Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;
  private readonly rows: LeasedRows;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {
    this.rows = leases.rows('chore');
  }

  /** Called while modules start; the name is what the database remembers. */
  every(everyMs: number, name: string, work: () => Promise<void>): void {
    this.chores.set(name, { name, everyMs, work });
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.runsJobs) return;
    await sql`
      insert into chore (name, due_at)
      select name, now() + least(every_ms, ${FIRST_SECONDS * 1000}) * interval '1 millisecond' from ${this.listed()}
      on conflict do nothing`.execute(this.database.tables());
    this.timer = setInterval(() => {
      this.looking ??= this.look().finally(() => {
        this.looking = undefined;
      });
    }, LOOK_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.looking;
    await Promise.all(this.running.values());
  }

  async run(name: string): Promise<void> {
    await withQueryDeadline(CHORE_QUERY_MS, async () => this.chores.get(name)?.work());
  }

  private async look(): Promise<void> {
    try {
      for (const name of await this.takeDue())
        this.running.set(
          name,
          this.perform(name).finally(() => this.running.delete(name)),
        );
    } catch (error) {
      this.log.warn({ err: error }, 'chores that are due cannot be looked for');
    }
  }

  /** Names of chores that this process is to do now. */
  private async takeDue(): Promise<string[]> {
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

  private async perform(name: string): Promise<void> {
    try {
      await this.run(name);
    } catch (error) {
      this.log.error({ err: error, chore: name }, 'a chore failed; it runs again when its time comes');
    }
    try {
      await sql`
        update chore set due_at = now() + every_ms * interval '1 millisecond', ${this.rows.released}
        from ${this.listed()} where chore.name = listed.name and chore.name = ${name} and ${this.rows.isOurs}`.execute(
        this.database.tables(),
      );
    } catch (error) {
      this.log.warn({ err: error, chore: name }, 'a chore runs again sooner: its end could not be noted');
    }
  }

  private listed() {
    const chores = [...this.chores.values()];
    const names = chores.map(({ name }) => name);
    const intervals = chores.map(({ everyMs }) => everyMs);
    return sql`unnest(${names}::text[], ${intervals}::float8[]) as listed (name, every_ms)`;
  }
}
