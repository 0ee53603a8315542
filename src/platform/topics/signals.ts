import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type pg from 'pg';
import {
  CONNECTION_SETTINGS,
  DatabaseClient,
  DatabaseConnection,
  type UnitOfWork,
} from '../database/index.js';
import { Log } from '../log/index.js';

const CHANNEL = 'atelier';
/** Reaches everyone who waits for anything. */
const EVERYONE = '*';
/** Says that there is one more who listens. */
const HELLO = '?';
const RECONNECT_MS = 250;
const MOST_RECONNECT_MS = 10_000;
/** How often it is looked whether the connection still answers, and how long the answer may take. */
const CHECK_MS = 15_000;
const ANSWER_MS = 10_000;
/** Other processes hear at most this often what this one tells, all of it at once. */
const TELLING_PAUSE_MS = 3;

/**
 * Wakes whoever waits for something to be committed, in any process, by PostgreSQL's LISTEN/NOTIFY. A signal carries no
 * data: who is woken looks at the database, which is the truth. After a lost connection everyone is woken once, and so
 * they are after a process was lost, which may have committed something and not told it.
 *
 * A process that is alone tells nobody else. One that begins to listen, when it can be seen that it lives, says hello: who
 * hears that is not alone any more, and wakes everyone there, for whom something may have happened before.
 */
@Injectable()
export class Signals implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly subscribers = new EventEmitter().setMaxListeners(0);
  private readonly untold = new Set<string>();
  private telling: Promise<void> | undefined;
  private client: pg.Client | undefined;
  private checking: NodeJS.Timeout | undefined;
  private closed = false;
  /** Whether others may listen. */
  private hasOthers = true;
  private greetings = 0;

  constructor(
    private readonly connection: DatabaseConnection,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.listen();
    // A connection may stay open over which nothing comes any more. One that does not answer is closed, and replaced.
    this.checking = setInterval(
      () => void this.client?.query('select').catch(() => undefined),
      CHECK_MS,
    ).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    clearInterval(this.checking);
    await this.telling;
    if (this.client && this.untold.size > 0) await this.spread(this.client);
    await this.client?.end();
  }

  /**
   * Wakes those who wait for what has been committed: here at once, elsewhere soon after. A transaction that sends
   * signals itself commits while no other one does, so what happens all the time is told by this.
   */
  tell(...topics: string[]): void {
    for (const topic of topics) {
      this.subscribers.emit(topic);
      if (this.hasOthers) this.untold.add(topic);
    }
    this.spreadSoon();
  }

  /** Whether anybody may wait for a topic, here or elsewhere. */
  isAwaited(topic: string): boolean {
    return this.hasOthers || this.subscribers.listenerCount(topic) > 0;
  }

  /** Tells the others that this process listens; to be called when it can be seen that it lives. */
  sayHello(): void {
    this.untold.add(HELLO);
    this.spreadSoon();
  }

  /** Begins to look whether other processes live; the answer counts unless one says hello meanwhile. */
  lookForOthers(): (areThere: boolean) => void {
    const { greetings } = this;
    return areThere => {
      if (greetings !== this.greetings) return;
      // One whose hello was not heard, as the connection was lost, was told nothing so far.
      if (areThere && !this.hasOthers) this.untold.add(EVERYONE);
      this.hasOthers = areThere;
      this.spreadSoon();
    };
  }

  /** Wakes everyone in every process. */
  tellAll(): void {
    this.wakeAll();
    this.untold.add(EVERYONE);
    this.spreadSoon();
  }

  /** Sends the signal when the transaction commits, even if this process is lost at that moment. */
  async notify(unit: UnitOfWork, topic: string): Promise<void> {
    await unit.entities.execute('select pg_notify(?, ?)', [CHANNEL, topic]);
  }

  /** Calls `wake` after each signal for `topic`; returns what ends it. */
  subscribe(topic: string, wake: () => void): () => void {
    this.subscribers.on(topic, wake);
    return () => this.subscribers.off(topic, wake);
  }

  private async listen(): Promise<void> {
    const client = new DatabaseClient({
      connectionString: this.connection.connectionString,
      application_name: 'atelier-signals',
      ...CONNECTION_SETTINGS,
      query_timeout: ANSWER_MS,
    });
    let own: number | undefined;
    client.on('notification', ({ payload = '', processId }) => {
      // What this process told, it has heard.
      if (processId !== own) this.hear(payload);
    });
    client.on('error', error => this.log.warn({ err: error }, 'signals: connection lost'));
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
      // Whoever tells something waits for no disk.
      await client.query('set synchronous_commit = off');
      await client.query(`listen ${CHANNEL}`);
    } catch (error) {
      await Promise.allSettled([client.end()]);
      throw error;
    }
    this.client = client;
    this.sayHello();
  }

  private hear(topic: string): void {
    if (topic === EVERYONE) this.wakeAll();
    else if (topic === HELLO) this.greet();
    else this.subscribers.emit(topic);
  }

  private greet(): void {
    this.greetings++;
    this.hasOthers = true;
    this.untold.add(EVERYONE);
    this.spreadSoon();
  }

  private spreadSoon(): void {
    if (this.telling || !this.client || this.untold.size === 0 || this.closed) return;
    this.telling = this.spread(this.client).finally(() => {
      this.telling = undefined;
      this.spreadSoon();
    });
  }

  private async spread(client: pg.Client): Promise<void> {
    const topics = [...this.untold];
    this.untold.clear();
    try {
      await client.query({
        name: 'tell',
        text: 'select pg_notify($1, topic) from unnest($2::text[]) topic',
        values: [CHANNEL, topics],
      });
    } catch (error) {
      this.log.warn({ err: error }, 'signals: told again when the connection is back');
      for (const topic of topics) this.untold.add(topic);
      if (!this.closed) await sleep(RECONNECT_MS);
      return;
    }
    if (!this.closed) await sleep(TELLING_PAUSE_MS);
  }

  private reconnect(delay: number): void {
    if (this.closed) return;
    setTimeout(() => {
      if (this.closed) return;
      this.listen().then(
        () => this.wakeAll(),
        error => {
          this.log.warn({ err: error }, 'signals: cannot reconnect yet');
          this.reconnect(Math.min(delay * 2, MOST_RECONNECT_MS));
        },
      );
    }, delay).unref();
  }

  private wakeAll(): void {
    for (const topic of this.subscribers.eventNames()) this.subscribers.emit(topic);
  }
}
