import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import type { CompiledQuery } from 'kysely';
import pg from 'pg';
import { CONNECTION_SETTINGS, ResilientClient } from '#libs/resilient-postgres/index.js';
import { DatabaseConnection } from '../database/index.js';

/** How long a heartbeat may take, so that the next may succeed where this one is swallowed. */
const MAX_HEARTBEAT_MS = 4_000;

/** A connection of its own for heartbeats: they do not wait for the connections that other work holds. */
@Injectable()
export class HeartbeatPool implements OnApplicationShutdown {
  private readonly pool: pg.Pool;

  constructor({ connectionString }: DatabaseConnection) {
    this.pool = new pg.Pool({
      ...CONNECTION_SETTINGS,
      connectionString,
      Client: ResilientClient,
      max: 1,
      connectionTimeoutMillis: MAX_HEARTBEAT_MS,
      query_timeout: MAX_HEARTBEAT_MS,
    });
    // The pool discards a connection that was lost while idle, and the next heartbeat opens another.
    this.pool.on('error', () => undefined);
  }

  async execute<R extends pg.QueryResultRow>({ sql, parameters }: CompiledQuery): Promise<R[]> {
    const { rows } = await this.pool.query<R>(sql, [...parameters]);
    return rows;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }
}
