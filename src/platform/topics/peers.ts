import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { CONNECTION_SETTINGS, ResilientClient } from '#libs/resilient-postgres/index.js';
import type { DatabaseConnection } from '../database/index.js';
import type { Log } from '../log/index.js';

/** The channel of PostgreSQL that `notify_topic` writes to. */
const CHANNEL = 'atelier';
/** Wakes every subscriber of every topic. */
export const EVERYTHING = '*';
/** Says that there is one more process that listens. */
const HELLO = '?';
const RECONNECT_MS = 250;
const MAX_RECONNECT_MS = 10_000;
/** How often a query checks that the connection still answers, and how long the answer may take. */
const CHECK_MS = 15_000;
const ANSWER_MS = 10_000;
/** Between two batches of topics for other processes. */
const BATCH_PAUSE_MS = 3;

/** What a process does when others publish, or may have. */
interface Subscribers {
  wake(topic: string): void;
  wakeAll(): void;
}

/**
 * The other processes, by LISTEN/NOTIFY of PostgreSQL. A process that begins to listen says hello, once others can see that
 * it lives: one that receives that has a peer, and has everybody wake all subscribers, which may have missed something.
 */
export class Peers {
  /** Whether other processes may listen. */
  areThere = true;
  /** Which connection it is that hears of others; undefined while there is none. */
  connection: number | undefined;
  /** What they are to be sent. */
  private readonly unsent = new Set<string>();
  private sending: Promise<void> | undefined;
  private client: pg.Client | undefined;
  private check: NodeJS.Timeout | undefined;
  private connections = 0;
  private isClosed = false;
  private hellos = 0;

  constructor(
    private readonly database: DatabaseConnection,
    private readonly log: Log,
    private readonly subscribers: Subscribers,
  ) {}

  async open(): Promise<void> {
    await this.listen();
    // A connection may stay open over which nothing comes any more. One that does not answer is closed, and replaced.
    this.check = setInterval(
      () => void this.client?.query('select').catch(() => undefined),
      CHECK_MS,
    ).unref();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.check);
    await this.sending;
    if (this.client && this.unsent.size > 0) await this.sendUnsent(this.client);
    await this.client?.end();
  }

  /** Sends topics soon, again until they are sent. */
  send(...topics: string[]): void {
    for (const topic of topics) this.unsent.add(topic);
    this.sendSoon();
  }

  /** Says hello; to be called when others can see that this process lives. */
  announce(): void {
    this.send(HELLO);
  }

  /** Begins a look for other processes; the answer counts unless one says hello meanwhile. */
  expect(): (areThere: boolean) => void {
    const { hellos } = this;
    return areThere => {
      if (hellos !== this.hellos) return;
      // One whose hello was lost with the connection was sent nothing so far.
      if (areThere && !this.areThere) this.unsent.add(EVERYTHING);
      this.areThere = areThere;
      this.sendSoon();
    };
  }

  private async listen(): Promise<void> {
    const client = new ResilientClient({
      connectionString: this.database.connectionString,
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
      this.connection = undefined;
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
    this.connection = ++this.connections;
    this.announce();
  }

  private receive(topic: string): void {
    if (topic === EVERYTHING) this.subscribers.wakeAll();
    else if (topic === HELLO) this.greet();
    else this.subscribers.wake(topic);
  }

  private greet(): void {
    this.hellos++;
    this.areThere = true;
    this.send(EVERYTHING);
  }

  private sendSoon(): void {
    if (this.sending || !this.client || this.unsent.size === 0 || this.isClosed) return;
    this.sending = this.sendUnsent(this.client).finally(() => {
      this.sending = undefined;
      this.sendSoon();
    });
  }

  private async sendUnsent(client: pg.Client): Promise<void> {
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
        () => this.subscribers.wakeAll(),
        error => {
          this.log.warn({ err: error }, 'topics: cannot reconnect; trying again');
          this.reconnect(Math.min(delay * 2, MAX_RECONNECT_MS));
        },
      );
    }, delay).unref();
  }
}
