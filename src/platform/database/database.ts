import { AsyncLocalStorage } from 'node:async_hooks';
import { EntityManager, Kysely } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { type ControlledTransaction, type Selectable, sql } from 'kysely';
import { storableText } from '#libs/fields/index.js';
import { inTransaction, isDeadlock } from '#libs/resilient-postgres/index.js';
import type { Schema } from './tables.js';

/** Ends a dry run where it would have done something. */
export class DryRunOver extends Error {
  constructor() {
    super('A dry run ends here');
  }
}

/** Work that is tried out: all its queries go through one transaction, which is rolled back. */
export class DryRun {
  private isOver = false;

  constructor(private readonly transaction: EntityManager) {}

  /** Where its queries go; once it is over, no more of them do. */
  get entities(): EntityManager {
    if (this.isOver) throw new DryRunOver();
    return this.transaction;
  }

  close(): void {
    this.isOver = true;
  }

  end(): never {
    this.close();
    throw new DryRunOver();
  }
}

const dryRuns = new AsyncLocalStorage<DryRun>();

/** The dry run that the caller is part of. */
export const dryRun = (): DryRun | undefined => dryRuns.getStore();

/** Calls `work` as a dry run that goes through `transaction`. Never returns: it throws what `work` refuses, or DryRunOver. */
export async function inDryRun(transaction: EntityManager, work: () => Promise<unknown>): Promise<never> {
  const run = new DryRun(transaction);
  try {
    await dryRuns.run(run, work);
    return run.end();
  } finally {
    run.close();
  }
}

/** To be called right before something that no transaction undoes: writing files, ending processes. A dry run ends there. */
export function beforeSideEffect(): void {
  dryRun()?.end();
}

/** A row as a query builder returns it. Times are as PostgreSQL prints them (see {@link iso}). */
export type Row<T extends keyof Schema> = Selectable<Schema[T]>;

/** A time from a row or an entity as the interface shows it: ISO 8601, UTC. */
export function iso(time: string | Date): string {
  return (typeof time === 'string' ? new Date(time) : time).toISOString();
}

/** As {@link iso}, for a time that may not have come yet. */
export function isoOrNull(time: string | Date | null): string | null {
  return time === null ? null : iso(time);
}

/** The time by the clock of the database. Deadlines go by it: the clock of a process may be wrong. */
export async function databaseTime(within: Pick<Database, 'tables'>): Promise<Date> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp() as now`.execute(within.tables());
  return new Date(rows[0]?.now ?? Number.NaN);
}

/** A NUL character or half of a surrogate pair, as JSON has it; or text that reads like one. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

/** JSON without what PostgreSQL's jsonb cannot hold: NUL characters and lone surrogates. */
export function storable(value: unknown): string {
  const json = JSON.stringify(value);
  // A function that sees each value takes many times as long, and hardly ever has anything to do.
  if (json === undefined || !UNSTORABLE.test(json)) return json;
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'string' ? storableText(inner) : inner));
}

/** A request with an `Idempotency-Key`, as the work that it asks for sees it. */
export interface KeyedRequest {
  /** False once its answer is committed or has left: what goes on after that belongs to it no more. */
  readonly isOpen: boolean;
  /** Keeps `view` as its answer, in the transaction of the work; false where this process may not execute the request any more. */
  keep(unit: UnitOfWork, view: unknown): Promise<boolean>;
  /** To be called once the transaction that kept the answer is committed. */
  committed(): void;
}

const requests = new AsyncLocalStorage<KeyedRequest>();

/** Runs the work that a request with a key asks for. */
export function inKeyedRequest<T>(request: KeyedRequest, work: () => T): T {
  return requests.run(request, work);
}

/** The request in whose name this happens, if it has a key and waits for its answer. */
function keyedRequest(): KeyedRequest | undefined {
  const request = requests.getStore();
  return request?.isOpen ? request : undefined;
}

/** Runs work whose answer is only a part of that of the request: `whole` makes the one out of the other. */
export function answeringWith<T>(whole: (part: unknown) => unknown, work: () => T): T {
  const request = keyedRequest();
  if (!request) return work();
  const wrapped: KeyedRequest = {
    get isOpen() {
      return request.isOpen;
    },
    keep: (unit, part) => request.keep(unit, whole(part)),
    committed: () => request.committed(),
  };
  return requests.run(wrapped, work);
}

/** Of a deletion that meets a deadlock each time. */
const MAX_ATTEMPTS = 5;

/** The types that MikroORM would infer by itself know neither our column types nor our table names. */
const typed = (kysely: unknown): Kysely<Schema> => kysely as Kysely<Schema>;

const queryBuilder = (entities: EntityManager): Kysely<Schema> => typed(entities.getKysely());

/** The way to the database: units of work for writes, a query builder for reads. */
@Injectable()
export class Database {
  private outside: Kysely<Schema> | undefined;

  constructor(private readonly entities: EntityManager) {}

  /** A query builder outside any transaction. */
  tables(): Kysely<Schema> {
    const dry = dryRun();
    if (dry) return queryBuilder(dry.entities);
    this.outside ??= queryBuilder(this.entities.fork({ useContext: false }));
    return this.outside;
  }

  /** A unit of work of one statement, which is a transaction by itself. */
  get statement(): Pick<UnitOfWork, 'tables' | 'afterCommit'> {
    return { tables: () => this.tables(), afterCommit: act => act() };
  }

  /**
   * Runs `work` in one transaction with its own identity map: committed when it returns, rolled back when it throws. All its
   * queries go through the unit: a second connection is refused in tests and logged in the service.
   */
  async transaction<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
    const afterwards: (() => void)[] = [];
    const dry = dryRun();
    if (dry)
      return dry.entities.transactional(em => {
        const entities = em as EntityManager;
        return work(new UnitOfWork(queryBuilder(entities), () => entities, afterwards));
      });
    const result = await this.entities.getConnection().transactional(transaction =>
      inTransaction(async () => {
        const unit = new UnitOfWork(typed(transaction), () => this.entitiesOf(transaction), afterwards);
        const done = await work(unit);
        await unit.flush();
        return done;
      }),
    );
    for (const act of afterwards) act();
    return result;
  }

  private entitiesOf(transaction: ControlledTransaction<unknown>): EntityManager {
    const entities = this.entities.fork({ useContext: false });
    entities.setTransactionContext(transaction);
    return entities;
  }

  /**
   * Calls `work` up to its end or {@link beforeSideEffect}, and does nothing: what it wrote is rolled back, and what it does
   * after a commit is left out. Throws what `work` throws.
   */
  async dryRun(work: () => Promise<unknown>): Promise<void> {
    try {
      await this.entities
        .fork({ useContext: false })
        .transactional(em => inTransaction(() => inDryRun(em as EntityManager, work)));
    } catch (error) {
      if (!(error instanceof DryRunOver)) throw error;
    }
  }

  /**
   * As {@link transaction}, and again where it was undone to end a deadlock: for what takes much along, in an order that
   * is the database's own. `work` does nothing outside the database.
   */
  async deletion<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.transaction(work);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isDeadlock(error)) throw error;
      }
    }
  }
}

/** One transaction: its query builder, and the entities to change, which see what it did so far. */
export class UnitOfWork {
  private opened: EntityManager | undefined;

  constructor(
    private readonly transaction: Kysely<Schema>,
    private readonly openEntities: () => EntityManager,
    private readonly afterwards: (() => void)[],
  ) {}

  /** MikroORM's entity manager of the transaction, opened with its first use: most transactions change no entity. */
  get entities(): EntityManager {
    this.opened ??= this.openEntities();
    return this.opened;
  }

  tables(): Kysely<Schema> {
    return this.transaction;
  }

  /** Calls `act` once the transaction is committed; never where the process is lost at that moment. */
  afterCommit(act: () => void): void {
    this.afterwards.push(act);
  }

  add<E extends object>(entity: E): E {
    this.entities.persist(entity);
    return entity;
  }

  /**
   * Says that `view` is the answer to the request in which this happens: where it has an `Idempotency-Key`, the answer is
   * committed with the work. Throws where another process has taken the request over.
   */
  async answers<T>(view: T): Promise<T> {
    const request = keyedRequest();
    if (!request || dryRun()) return view;
    if (!(await request.keep(this, view))) throw new RequestLost();
    this.afterCommit(() => request.committed());
    return view;
  }

  /** Writes what is pending now, so that the queries that follow see it. */
  async flush(): Promise<void> {
    await this.opened?.flush();
  }
}

/** Another process executes the request, as this one was taken for dead; this one rolls back. */
export class RequestLost extends Error {
  constructor() {
    super('Another process executes this request');
  }
}
