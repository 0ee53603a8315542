import { EntityManager, Kysely } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { v7 } from 'uuid';
import { DryRunOver, dryRun, inDryRun } from './dry-run.js';
import { keyedRequest } from './keyed-request.js';
import { isDeadlock } from './outage.js';
import type { Schema } from './tables.js';
import { inTransaction } from './transaction-scope.js';

/** Of a deletion that meets a deadlock each time. */
const MAX_ATTEMPTS = 5;

/** A new id: UUID version 7 (RFC 9562 section 5.7), so that ids sort by the time they were made. */
export const newId = (): string => v7();

/** The type that MikroORM would infer by itself knows neither our column types nor our table names. */
function queryBuilder(entities: EntityManager): Kysely<Schema> {
  return entities.getKysely() as unknown as Kysely<Schema>;
}

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

  /**
   * Runs `work` in one transaction with an identity map of its own. What it persisted is flushed and committed when it
   * returns, undone when it throws. Inside, all queries go through the unit: one that takes a second connection is
   * refused by tests and logged by the service.
   */
  async transaction<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
    const afterwards: (() => void)[] = [];
    const dry = dryRun();
    if (dry) return dry.entities.transactional(em => work(new UnitOfWork(em as EntityManager, afterwards)));
    const result = await this.entities
      .fork({ useContext: false })
      .transactional(em => inTransaction(() => work(new UnitOfWork(em as EntityManager, afterwards))));
    for (const act of afterwards) act();
    return result;
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

/** One transaction: entities to change, and the query builder that sees what it did so far. */
export class UnitOfWork {
  constructor(
    readonly entities: EntityManager,
    private readonly afterwards: (() => void)[],
  ) {}

  tables(): Kysely<Schema> {
    return queryBuilder(this.entities);
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
    const { rows } = await request.keep(view).execute(this.tables());
    if (rows.length === 0) throw new RequestLost();
    this.afterCommit(() => request.committed());
    return view;
  }

  /** Writes what is pending now, so that the queries that follow see it. */
  flush(): Promise<void> {
    return this.entities.flush();
  }
}

/** Another process executes the request, as this one was taken for dead; this one rolls back. */
export class RequestLost extends Error {
  constructor() {
    super('Another process carries this request out');
  }
}
