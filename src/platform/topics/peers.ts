import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { CONNECTION_SETTINGS, ResilientClient } from '#libs/resilient-postgres/index.js';
import type { DatabaseConnection } from '../database/index.js';
import type { Log } from '../log/index.js';
import { type Announcement, Interests } from './interests.js';

/** The channel of PostgreSQL that `notify_topic` writes to. */
const CHANNEL = 'atelier';
/** Wakes every subscriber of every topic. */
export const EVERYTHING = '*';
/** Says that there is one more process that listens; with a kind of topics, that one more listens to these. */
const HELLO = '?';
const RECONNECT_MS = 250;
const MAX_RECONNECT_MS = 10_000;
/** How often a query checks that the connection still answers, and how long the answer may take. */
const CHECK_MS = 15_000;
const ANSWER_MS = 10_000;
/** Between two batches of topics for other processes. */
const BATCH_PAUSE_MS = 3;
const PUBLISH = 'select notify_topic(topic) from unnest($1::text[]) topic';

/** What a process does when others publish, or may have. */
interface Subscribers {
  wake(topic: string): void;
  wakeKind(kind: string): void;
  /** What was published of this kind so far may not have come here. */
  hear(kind: string): void;
  wakeAll(): void;
}

/** Another process, as its row has it. */
export interface Peer {
  readonly id: string;
  /** Kinds of topics; null where it does not say, and is sent all. */
  readonly listens_to: readonly string[] | null;
}

/**
 * The other processes, by LISTEN/NOTIFY of PostgreSQL. A process that begins to listen says hello, once others can see that
 * it lives: one that receives that has a peer, and has everybody wake all subscribers, which may have missed something. The
 * same goes for a kind of topics that it begins to listen to: what no other process listens to is not sent.
 */
export class Peers {
  /** Whether other processes may listen. */
  areThere = true;
  /** The id of this process, once others can see that it lives. */
  self: string | undefined;
  /** Which connection it is that hears of others; undefined while there is none. */
  connection: number | undefined;
  private readonly interests = new Interests();
  /** What others listen to; undefined where that is not known, and they are sent everything. */
  private wanted: Set<string> | undefined;
  /** What they are to be sent. */
  private readonly unsent = new Set<string>();
  private sending: Promise<void> | undefined;
  private client: pg.Client | undefined;
  private check: NodeJS.Timeout | undefined;
  private connections = 0;
  private isClosed = false;
  /** How often another process, or something that one listens to, was new. */
  private hellos = 0;
  /** Whether another process said hello since the last look that counts began. */
  hasNews = false;

  constructor(
    private readonly database: DatabaseConnection,
    private readonly log: Log,
    private readonly subscribers: Subscribers,
  ) {}

  async open(): Promise<void> {
    await this.listen();
    // A connection may stay open over which nothing comes any more. One that does not answer is closed, and replaced.
    this.check = setInterval(() => {
      void this.client?.query('select').catch(() => undefined);
      if (this.areThere) this.interests.review();
      this.sendSoon();
    }, CHECK_MS).unref();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.check);
    await this.sending;
    if (this.client && this.unsent.size > 0) await this.sendUnsent(this.client);
    await this.leave();
    await this.client?.end();
  }

  /** Sends topics soon, again until they are sent. */
  send(...topics: string[]): void {
    for (const topic of topics) this.unsent.add(topic);
    this.sendSoon();
  }

  /** Has others send topics of a kind, if only soon; returns what ends that. */
  listenTo(kind: string): () => void {
    const end = this.interests.begin(kind);
    if (!this.interests.has(kind)) this.sendSoon();
    return end;
  }

  /** The same for one who asks now and then, for a while. */
  touch(kind: string): void {
    this.interests.touch(kind);
    if (!this.interests.has(kind)) this.sendSoon();
  }

  /** Whether all that others publish of a kind comes here by now. */
  hears(kind: string): boolean {
    return !this.areThere || this.self === undefined || this.interests.has(kind);
  }

  /** Whether another process may listen to a kind. */
  want(kind: string): boolean {
    return this.areThere && (!this.wanted || this.wanted.has(kind));
  }

  /** Says hello; to be called when others can see that this process lives, by its row under this id. */
  announce(id: string): void {
    this.self = id;
    this.interests.review({ isNew: true });
    this.send(HELLO);
  }

  /** Begins a look for other processes; the answer counts unless one says something new meanwhile. */
  expect(): (others: readonly Peer[]) => void {
    const { hellos } = this;
    return others => {
      if (hellos !== this.hellos) return;
      this.hasNews = false;
      const areThere = others.length > 0;
      // One whose hello was lost with the connection was sent nothing so far.
      if (areThere && !this.areThere) this.unsent.add(EVERYTHING);
      this.areThere = areThere;
      const wanted = others.every(({ listens_to }) => listens_to)
        ? new Set(others.flatMap(({ listens_to }) => listens_to ?? []))
        : undefined;
      const { wanted: before } = this;
      if (before && wanted)
        for (const kind of wanted) if (!before.has(kind)) this.unsent.add(`${EVERYTHING}${kind}`);
      this.wanted = wanted;
      this.sendSoon();
    };
  }

  /** Others are not to count on this process until its row is removed. */
  private async leave(): Promise<void> {
    if (this.self === undefined || !this.client) return;
    const text = "update process set listens_to = '{}' where id = $1::uuid";
    await Promise.allSettled([this.client.query({ text, values: [this.self] })]);
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
    // What others began to listen to meanwhile was not heard, and may have been held back.
    const heldBack = this.wanted ? [EVERYTHING] : [];
    this.forgetPeers();
    this.send(HELLO, ...heldBack);
  }

  private receive(topic: string): void {
    if (topic === EVERYTHING) this.subscribers.wakeAll();
    else if (topic === HELLO) this.greet();
    else if (topic.startsWith(HELLO)) this.greetListener(topic.slice(HELLO.length));
    else if (topic.startsWith(EVERYTHING)) this.subscribers.wakeKind(topic.slice(EVERYTHING.length));
    else this.subscribers.wake(topic);
  }

  private greet(): void {
    this.hasNews = true;
    this.forgetPeers();
    this.areThere = true;
    this.send(EVERYTHING);
  }

  /** What was published so far of this kind was not sent. */
  private greetListener(kind: string): void {
    if (!this.areThere) this.greet();
    this.hasNews = true;
    this.hellos++;
    if (!this.wanted || this.wanted.has(kind)) return;
    this.wanted.add(kind);
    this.send(`${EVERYTHING}${kind}`);
  }

  /** Sends everything until the next look. */
  private forgetPeers(): void {
    this.hellos++;
    this.wanted = undefined;
  }

  private get isUnsaved(): boolean {
    return this.self !== undefined && this.interests.isUnsaved;
  }

  private sendSoon(): void {
    if (this.sending || !this.client || this.isClosed) return;
    if (this.unsent.size === 0 && !this.isUnsaved) return;
    this.sending = this.sendUnsent(this.client).finally(() => {
      this.sending = undefined;
      this.sendSoon();
    });
  }

  private async sendUnsent(client: pg.Client): Promise<void> {
    const topics = [...this.unsent];
    this.unsent.clear();
    const announcement = this.isUnsaved ? this.interests.take() : undefined;
    try {
      if (announcement) await this.writeDown(client, announcement, topics);
      else await client.query({ name: 'publish', text: PUBLISH, values: [topics] });
    } catch (error) {
      this.log.warn({ err: error }, 'topics: cannot publish; trying again');
      for (const topic of topics) this.unsent.add(topic);
      if (announcement) this.interests.failed();
      if (!this.isClosed) await sleep(RECONNECT_MS);
      return;
    }
    if (!this.isClosed) await sleep(BATCH_PAUSE_MS);
  }

  /** What this process listens to, before others look there for it. */
  private async writeDown(
    client: pg.Client,
    announcement: Announcement,
    topics: readonly string[],
  ): Promise<void> {
    const { kinds, added } = announcement;
    const all = topics.includes(HELLO) ? topics : [...topics, ...added.map(kind => `${HELLO}${kind}`)];
    await client.query({
      name: 'listen',
      // In one statement: who is notified finds it there, and who looks before that is notified.
      text: `with listening as (update process set listens_to = $2::text[] where id = $3::uuid) ${PUBLISH}`,
      values: [all, kinds, this.self],
    });
    this.interests.saved(announcement);
    for (const kind of added) this.subscribers.hear(kind);
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
