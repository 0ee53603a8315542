import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import {
  Queue as BullQueue,
  type ConnectionOptions,
  createPostgresBackend,
  DelayedError,
  setDefaultBackendFactory,
  Worker,
} from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { CONNECTION_SETTINGS, poolEnd, QUERY_MS, ResilientClient } from '#libs/resilient-postgres/index.js';
import { CannotStart, Config } from '../config/index.js';
import { DatabaseConnection } from '../database/index.js';
import { Log } from '../log/index.js';
import { Metrics, PoolMetrics } from '../metrics/index.js';
import { JobHandlers, type Queue } from './job.js';
import { type EnqueuedJob, JobStore } from './job.store.js';
import { JobRunner } from './job-runner.js';

/** Of deliveries that fail because the database is away. How a job itself failed is in its row. */
const DELIVERIES = 10;
const BACKOFF_MS = 1000;
/** Sets the jobs that have a row apart from those that an earlier version added. */
const PREFIX = 'job-';

/** How BullMQ keeps a job: under an id by which it knows one that it is given again. */
export const queueOptions = (id: string) => ({
  jobId: `${PREFIX}${id}`,
  attempts: DELIVERIES,
  backoff: { type: 'exponential', delay: BACKOFF_MS },
  removeOnComplete: true,
  removeOnFail: true,
});

/** The id of the row of a job; undefined where it has none. */
export const rowIdOf = (jobId: string | undefined): string | undefined =>
  jobId?.startsWith(PREFIX) ? jobId.slice(PREFIX.length) : undefined;

/** Each worker keeps one connection to listen for jobs; the others are for queries. */
const MAX_CONNECTIONS = 16;

/** The connections of the queue to its schema in the database, for all queues and workers together. */
@Injectable()
export class QueuePool {
  readonly connections: pg.Pool;
  /** Resolves when the connections are closed. */
  readonly end: () => Promise<void>;

  constructor(database: DatabaseConnection) {
    this.connections = new pg.Pool({
      connectionString: database.connectionString,
      max: MAX_CONNECTIONS,
      Client: ResilientClient,
      ...CONNECTION_SETTINGS,
      query_timeout: QUERY_MS,
      // What the queue notes of a job need not survive a crash of the database: jobs are added in our own transactions, and
      // one whose end was forgotten runs again, which is harmless.
      options: '-c search_path=bullmq -c synchronous_commit=off',
    });
    // Every queue and every worker listens.
    this.connections.setMaxListeners(0);
    this.end = poolEnd(this.connections);
  }
}

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

/**
 * How long a worker without jobs waits for a notification of the database before it looks: what changes a queue notifies it, a
 * lost connection wakes it, and it sleeps no longer than until the next delayed job. A Redis may not be waited for that long.
 */
const IDLE_SECONDS = 30;

/** In which BullMQ counts jobs; those that failed are counted by their rows. */
const STATES = ['waiting', 'active', 'delayed'] as const;

/** BullMQ's queues, in Redis where one is configured, else in the database; and its workers, where ROLE says so. */
@Injectable()
export class Queues implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly queues = new Map<string, BullQueue>();
  private readonly workers = new Map<string, Worker>();
  private readonly connection: ConnectionOptions;
  private readonly idle: { drainDelay?: number };

  constructor(
    private readonly config: Config,
    private readonly pool: QueuePool,
    private readonly handlers: JobHandlers,
    private readonly runner: JobRunner,
    private readonly store: JobStore,
    private readonly log: Log,
    metrics: Metrics,
    pools: PoolMetrics,
  ) {
    const { redisUrl } = config;
    // One for the whole process, which has one configuration.
    setDefaultBackendFactory(redisUrl ? undefined : (createPostgresBackend as never));
    this.connection = redisUrl ? { url: redisUrl, maxRetriesPerRequest: null } : (pool.connections as never);
    this.idle = redisUrl ? {} : { drainDelay: IDLE_SECONDS };
    pools.watch('queue', () => pool.connections);
    metrics.slowGauge(
      {
        name: 'atelier_queue_jobs',
        help: 'Jobs in a queue, of all processes together, by state.',
        labels: ['queue', 'state'],
      },
      () => this.depths(),
    );
  }

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    for (const queue of this.defined()) this.workers.set(queue.name, this.work(queue));
  }

  async onApplicationShutdown(): Promise<void> {
    const parts = [...this.workers.values(), ...this.queues.values()];
    const closed = await Promise.allSettled(parts.map(part => part.close()));
    await this.pool.end();
    for (const result of closed) if (result.status === 'rejected') throw result.reason;
  }

  /**
   * Gives a job that is due to BullMQ, which ignores one that it has. Where it delays that one, until a time of some process's
   * clock, the delay ends.
   */
  async add({ id, queue, name, payload }: EnqueuedJob): Promise<void> {
    const job = await this.queue(queue).add(name, payload, queueOptions(id));
    if (!(await job.isDelayed())) return;
    await job.promote().catch(async error => {
      if (await job.isDelayed()) throw error;
    });
  }

  queue(name: string): BullQueue {
    const known = this.queues.get(name);
    if (known) return known;
    const queue = new BullQueue(name, { connection: this.connection });
    this.queues.set(name, this.watched(queue));
    return queue;
  }

  /** The worker of a queue; undefined where this process does not run jobs. */
  worker(name: string): Worker | undefined {
    return this.workers.get(name);
  }

  private work({ name, ...options }: Queue): Worker {
    const worker = new Worker(
      name,
      async (job, token) => {
        const id = rowIdOf(job.id);
        const again = id === undefined ? undefined : await this.runner.execute(id);
        if (again === undefined) return;
        await job.moveToDelayed(Date.now() + again, token);
        throw new DelayedError();
      },
      { connection: this.connection, ...this.idle, ...options },
    );
    return this.watched(worker);
  }

  private defined(): Set<Queue> {
    return new Set(this.handlers.all().map(({ job }) => job.queue));
  }

  private async depths() {
    const failed = await this.store.failedByQueue();
    const depths = await Promise.all(
      [...this.defined()].map(async ({ name }) => {
        const counts = await this.queue(name).getJobCounts(...STATES);
        const depth = (state: string, value = 0) => ({ labels: { queue: name, state }, value });
        return [...STATES.map(state => depth(state, counts[state])), depth('failed', failed.get(name))];
      }),
    );
    return depths.flat();
  }

  /** BullMQ mends a lost connection itself; without a listener the error would go to stderr, or end the process. */
  private watched<Part extends BullQueue | Worker>(part: Part): Part {
    (part as BullQueue).on('error', error =>
      this.log.warn({ err: error, queue: part.name }, 'queue error; the queue goes on'),
    );
    return part;
  }
}
