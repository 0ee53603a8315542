import { Injectable, Module } from '@nestjs/common';
import { type ConnectionOptions, createPostgresBackend, setDefaultBackendFactory } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { CONNECTION_SETTINGS, poolEnd, QUERY_MS, ResilientClient } from '#libs/resilient-postgres/index.js';
import { CannotStart, Config } from '../config/index.js';
import { DatabaseConnection } from '../database/index.js';
import { PoolMetrics } from '../metrics/index.js';

const CONNECT_MS = 5000;

/** Throws CannotStart where no Redis answers at `url` within five seconds. The message never repeats the address. */
export async function requireRedis(url: string): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: CONNECT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let fault: Error | undefined;
  redis.on('error', error => {
    fault = error;
  });
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    const { message } = fault ?? (error as Error);
    throw new CannotStart(
      `The Redis in REDIS_URL cannot be used: ${message}. Start it, or correct REDIS_URL.`,
    );
  } finally {
    redis.disconnect();
  }
}

/** Each worker keeps one connection to listen for jobs; the others are for queries. */
const MAX_CONNECTIONS = 16;

/** What BullMQ connects to: the Redis of REDIS_URL, or its schema in the database. */
@Injectable()
export class QueueConnections {
  readonly options: ConnectionOptions;
  /** Closes what all queues and workers share; they are closed before. */
  readonly end: () => Promise<void>;

  constructor({ redisUrl }: Config, { connectionString }: DatabaseConnection, pools: PoolMetrics) {
    // One for the whole process, which has one configuration.
    setDefaultBackendFactory(redisUrl ? undefined : createPostgresBackend);
    if (redisUrl) {
      this.options = { url: redisUrl, maxRetriesPerRequest: null };
      this.end = async () => undefined;
      return;
    }
    const pool = new pg.Pool({
      connectionString,
      max: MAX_CONNECTIONS,
      Client: ResilientClient,
      ...CONNECTION_SETTINGS,
      query_timeout: QUERY_MS,
      // What the queue notes of a job need not survive a crash of the database: a job that it forgot is added again, and one
      // whose end was forgotten runs again, which is harmless.
      options: '-c search_path=bullmq -c synchronous_commit=off',
    });
    // Every queue and every worker listens.
    pool.setMaxListeners(0);
    pools.watch('queue', () => pool);
    // @nestjs/bullmq types connections as those of Redis.
    this.options = pool as never;
    this.end = poolEnd(pool);
  }
}

@Module({ providers: [QueueConnections], exports: [QueueConnections] })
export class QueueConnectionsModule {}
