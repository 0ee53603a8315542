import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type pg from 'pg';
import { CONNECTION_SETTINGS, ResilientClient } from '#libs/resilient-postgres/index.js';
import { DatabaseConnection, dryRun, type UnitOfWork } from '../database/index.js';
import { Log } from '../log/index.js';
import type { Topic } from './topic.js';

/** The channel of PostgreSQL that `notify_topic` writes to. */
const CHANNEL = 'atelier';
/** Wakes every subscriber of every topic. */
const EVERYTHING = '*';
/** Says that there is one more process that listens. */
const HELLO = '?';
const RECONNECT_MS = 250;
const MAX_RECONNECT_MS = 10_000;
/** How often a query checks that the connection still answers, and how long the answer may take. */
const CHECK_MS = 15_000;
const ANSWER_MS = 10_000;
/** Between two batches of topics for other processes. */
const BATCH_PAUSE_MS = 3;

/**
 * Publishes topics to the subscribers in all processes, by PostgreSQL's LISTEN/NOTIFY. A topic has no data: a subscriber that
 * is woken reads the database. Every subscriber is woken after a lost connection, and after a process was lost, which may have
 * committed something without publishing it.
 *
 * A process without peers publishes to itself alone. One that begins to listen says hello, once others can see that it
 * lives: a process that receives that has a peer, and wakes all its subscribers, which may have missed something before.
 */
@Injectable()
export class Topics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly subscribers = new EventEmitter().setMaxListeners(0);
  /** What other processes are to be sent. */
  private readonly unsent = new Set<string>();
  private sending: Promise<void> | undefined;
  private client: pg.Client | undefined;
  private check: NodeJS.Timeout | undefined;
  private isClosed = false;
  /** Whether other processes may listen. */
  private hasPeers = true;
  private hellos = 0;

  constructor(
    private readonly connection: DatabaseConnection,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.listen();
    // A connection may stay open over which nothing comes any more. One that does not answer is closed, and replaced.
    this.check = setInterval(
      () => void this.client?.query('select').catch(() => undefined),
      CHECK_MS,
    ).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.check);
    await this.sending;
    if (this.client && this.unsent.size > 0) await this.send(this.client);
    await this.client?.end();
  }

  /**
   * Publishes what is committed: here at once, elsewhere soon after. A transaction that publishes by itself holds up all
   * others that do while it commits, so what happens often is published by this.
   */
  publish(...topics: Topic[]): void {
    if (dryRun()) return;
    for (const topic of topics) {
      this.subscribers.emit(topic);
      if (this.hasPeers) this.unsent.add(topic);
    }
    this.sendSoon();
  }

  /** Publishes when the transaction commits, even if this process is lost at that moment. */
  async publishOnCommit(unit: UnitOfWork, topic: Topic): Promise<void> {
    await unit.entities.execute('select notify_topic(?)', [topic]);
  }

  /** Wakes every subscriber in every process. */
  publishEverything(): void {
    this.wakeAll();
    this.unsent.add(EVERYTHING);
    this.sendSoon();
  }

  /** Calls `wake` each time `topic` is published; returns what ends that. */
  subscribe(topic: Topic, wake: () => void): () => void {
    this.subscribers.on(topic, wake);
    return () => this.subscribers.off(topic, wake);
  }

  /** Whether anybody may have subscribed, here or elsewhere. */
  hasSubscribers(topic: Topic): boolean {
    return this.hasPeers || this.subscribers.listenerCount(topic) > 0;
  }

  /** Says hello; to be called when others can see that this process lives. */
  announce(): void {
    this.unsent.add(HELLO);
    this.sendSoon();
  }

  /** Begins a look for other processes; the answer counts unless one says hello meanwhile. */
  expectPeers(): (areThere: boolean) => void {
    const { hellos } = this;
    return areThere => {
      if (hellos !== this.hellos) return;
      // One whose hello was lost with the connection was sent nothing so far.
      if (areThere && !this.hasPeers) this.unsent.add(EVERYTHING);
      this.hasPeers = areThere;
      this.sendSoon();
    };
  }

  private async listen(): Promise<void> {
    const client = new ResilientClient({
      connectionString: this.connection.connectionString,
      application_name: 'atelier-signals',
      ...CONNECTION_SETTINGS,
      query_timeout: ANSWER_MS,
    });
    let own: number | undefined;
    client.on('notification', ({ payload = '', processId }) => {
      // Subscribers here were woken when it was sent.
      if (processId !== own) this.receive(payload);
    });
    client.on('error', error => this.log.warn({ err: error }, 'topics: connection lost'));
    await client.connect();
    client.on('end', () => {
      // One that was lost before it listened is replaced by who wanted it.
      if (this.client !== client) return;
      this.client = undefined;
      this.reconnect(RECONNECT_MS);
    });
    try {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      own = rows[0]?.pid;
      // Publishing waits for no disk.
      await client.query('set synchronous_commit = off');
      await client.query(`listen ${CHANNEL}`);
    } catch (error) {
      await Promise.allSettled([client.end()]);
      throw error;
    }
    this.client = client;
    this.announce();
  }

  private receive(topic: string): void {
    if (topic === EVERYTHING) this.wakeAll();
    else if (topic === HELLO) this.greet();
    else this.subscribers.emit(topic);
  }

  private greet(): void {
    this.hellos++;
    this.hasPeers = true;
    this.unsent.add(EVERYTHING);
    this.sendSoon();
  }

  private sendSoon(): void {
    if (this.sending || !this.client || this.unsent.size === 0 || this.isClosed) return;
    this.sending = this.send(this.client).finally(() => {
      this.sending = undefined;
      this.sendSoon();
    });
  }

  private async send(client: pg.Client): Promise<void> {
    const topics = [...this.unsent];
    this.unsent.clear();
    try {
      await client.query({
        name: 'publish',
        text: 'select notify_topic(topic) from unnest($1::text[]) topic',
        values: [topics],
      });
    } catch (error) {
      this.log.warn({ err: error }, 'topics: cannot publish; trying again');
      for (const topic of topics) this.unsent.add(topic);
      if (!this.isClosed) await sleep(RECONNECT_MS);
      return;
    }
    if (!this.isClosed) await sleep(BATCH_PAUSE_MS);
  }

  private reconnect(delay: number): void {
    if (this.isClosed) return;
    setTimeout(() => {
      if (this.isClosed) return;
      this.listen().then(
        () => this.wakeAll(),
        error => {
          this.log.warn({ err: error }, 'topics: cannot reconnect; trying again');
          this.reconnect(Math.min(delay * 2, MAX_RECONNECT_MS));
        },
      );
    }, delay).unref();
  }

  private wakeAll(): void {
    for (const topic of this.subscribers.eventNames()) this.subscribers.emit(topic);
  }
}
