import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { Log } from '../log/index.js';
import { CONNECTION_SETTINGS, DatabaseClient } from './client.js';
import { DatabaseConnection } from './connection.js';
import { isInTransaction, SecondConnection } from './transaction-scope.js';

const MAX_CONNECTIONS = 4;
const MAX_WAIT_MS = 60_000;

/**
 * Work that is done once at a time in all processes and uses the database meanwhile. Each lock holds a connection of a pool
 * of its own: in a transaction, the work would wait for connections that others of its kind hold.
 */
@Injectable()
export class AdvisoryLocks implements OnApplicationShutdown {
  private readonly connections: pg.Pool;

  constructor(
    database: DatabaseConnection,
    private readonly log: Log,
  ) {
    this.connections = new pg.Pool({
      connectionString: database.connectionString,
      Client: DatabaseClient,
      ...CONNECTION_SETTINGS,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: MAX_WAIT_MS,
      query_timeout: MAX_WAIT_MS,
      lock_timeout: MAX_WAIT_MS,
    });
    this.connections.on('error', error => this.log.warn({ err: error }, 'a connection for locks was lost'));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.connections.end();
  }

  /** Runs `work` while nobody else does under the same key; waits for those before it, for a minute at most. */
  async hold<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (isInTransaction()) throw new SecondConnection();
    const client = await this.connections.connect();
    let fault: Error | undefined;
    try {
      await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [key]);
      return await work();
    } finally {
      try {
        await client.query('select pg_advisory_unlock(hashtextextended($1, 0))', [key]);
      } catch (error) {
        // With its connection the lock is gone.
        fault = error as Error;
      }
      client.release(fault);
    }
  }
}
