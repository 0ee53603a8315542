import { EventEmitter } from 'node:events';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { DatabaseConnection, dryRun, type UnitOfWork } from '../database/index.js';
import { Log } from '../log/index.js';
import { EVERYTHING, type Peer, Peers } from './peers.js';

declare const IS_TOPIC: unique symbol;

/** What is published and subscribed to: `run:0194…`. */
export type Topic = string & { readonly [IS_TOPIC]: true };

/** A kind of topic: one for each id, or one for all where there is no id. */
export interface TopicKind {
  readonly kind: string;
  (...ids: readonly string[]): Topic;
  /** The topic of an id that a statement finds. */
  sql(id: RawBuilder<unknown>): RawBuilder<Topic>;
}

const kindOf = (topic: string): string => {
  const end = topic.indexOf(':');
  return end === -1 ? topic : topic.slice(0, end);
};

const defined = new Set<string>();

/** Declares a kind of topic. Triggers and processes of other versions publish by its name: never change it. */
export function defineTopic(name: string): TopicKind {
  if (defined.has(name)) throw new Error(`The topic ${name} is defined twice`);
  defined.add(name);
  const of = (...ids: readonly string[]) => [name, ...ids].join(':') as Topic;
  return Object.assign(of, {
    kind: name,
    sql: (id: RawBuilder<unknown>) => sql<Topic>`${`${name}:`}::text || ${id}`,
  });
}

/** SQL that publishes a topic when its transaction commits. */
export const notifyTopic = (topic: Topic | RawBuilder<Topic>): RawBuilder<unknown> =>
  sql`notify_topic(${topic})`;

/**
 * Publishes topics to the subscribers in all processes. A topic has no data: a subscriber that is woken reads the database.
 * Every subscriber is woken after a lost connection, and after a process was lost, which may have committed something without
 * publishing it. A process without peers publishes to itself alone.
 */
@Injectable()
export class Topics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly subscribers = new EventEmitter().setMaxListeners(0);
  private readonly peers: Peers;
  /** How often each kind of topic was published, and all of them at once. */
  private readonly counts = new Map<string, number>();
  private wakings = 0;

  constructor(connection: DatabaseConnection, log: Log) {
    this.peers = new Peers(connection, log, {
      wake: topic => this.emit(topic),
      wakeKind: kind => this.wakeKind(kind),
      hear: kind => this.countOne(kind),
      wakeAll: () => this.wakeAll(),
    });
  }

  onApplicationBootstrap(): Promise<void> {
    return this.peers.open();
  }

  onApplicationShutdown(): Promise<void> {
    return this.peers.close();
  }

  /**
   * Publishes what is committed: here at once, elsewhere soon after. A transaction that publishes by itself holds up all
   * others that do while it commits, so what happens often is published by this.
   */
  publish(...topics: Topic[]): void {
    if (dryRun()) return;
    for (const topic of topics) this.emit(topic);
    const wanted = topics.filter(topic => this.peers.want(kindOf(topic)));
    if (wanted.length > 0) this.peers.send(...wanted);
  }

  /** As `publish`, once the transaction is committed; never where the process is lost at that moment. */
  publishAfterCommit(unit: UnitOfWork, ...topics: Topic[]): void {
    unit.afterCommit(() => this.publish(...topics));
  }

  /** Publishes when the transaction commits, even if this process is lost at that moment. */
  async publishOnCommit(unit: UnitOfWork, topic: Topic): Promise<void> {
    await sql`select notify_topic(${topic})`.execute(unit.tables());
  }

  /** As `publishOnCommit`, and here before the transaction returns: the caller's next request sees what it changed. */
  async publishWithCommit(unit: UnitOfWork, topic: Topic): Promise<void> {
    await this.publishOnCommit(unit, topic);
    unit.afterCommit(() => this.emit(topic));
  }

  /** Wakes every subscriber in every process. */
  publishEverything(): void {
    this.wakeAll();
    this.peers.send(EVERYTHING);
  }

  /**
   * Calls `wake` each time `topic` is published, with true, and with false where it may have been; returns what ends that. Who has
   * nowhere to look what happened goes by what was published for certain.
   */
  subscribe(topic: Topic, wake: (wasPublished: boolean) => void): () => void {
    const end = this.peers.listenTo(kindOf(topic));
    this.subscribers.on(topic, wake);
    return () => {
      this.subscribers.off(topic, wake);
      end();
    };
  }

  /**
   * A number that changes whenever something of these kinds is published: what was read after it was taken holds while it
   * stays the same. Undefined while this process may miss something: it is not connected, or others do not know yet that it
   * listens to them.
   */
  mark(...kinds: readonly TopicKind[]): number | undefined {
    const { connection } = this.peers;
    if (connection === undefined) return undefined;
    let sum = connection + this.wakings;
    for (const { kind } of kinds) {
      this.peers.touch(kind);
      if (!this.peers.hears(kind)) return undefined;
      sum += this.counts.get(kind) ?? 0;
    }
    return sum;
  }

  /** Whether anybody may have subscribed, here or elsewhere. */
  hasSubscribers(topic: Topic): boolean {
    return this.peers.want(kindOf(topic)) || this.subscribers.listenerCount(topic) > 0;
  }

  /** Says hello to other processes; to be called when they can see that this one lives, by its row under this id. */
  announce(processId: string): void {
    this.peers.announce(processId);
  }

  /** Begins a look for other processes; the answer counts unless one says hello meanwhile. */
  expectPeers(): (others: readonly Peer[]) => void {
    return this.peers.expect();
  }

  /** Whether another process said hello since the last look that counts began. */
  get hasNewPeers(): boolean {
    return this.peers.hasNews;
  }

  private emit(topic: string): void {
    this.countOne(kindOf(topic));
    this.subscribers.emit(topic, true);
  }

  private countOne(kind: string): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  private wakeKind(kind: string): void {
    this.countOne(kind);
    for (const topic of this.subscribers.eventNames())
      if (kindOf(String(topic)) === kind) this.subscribers.emit(topic, false);
  }

  private wakeAll(): void {
    this.wakings++;
    for (const topic of this.subscribers.eventNames()) this.subscribers.emit(topic, false);
  }
}

/**
 * Waits for a topic without missing it: subscribe, read the database, then wait. What is published while the subscriber reads
 * makes the next wait return at once.
 */
export class Subscription {
  private isWoken = false;
  private resolve: (() => void) | undefined;
  private readonly unsubscribe: () => void;

  constructor(topics: Topics, topic: Topic) {
    this.unsubscribe = topics.subscribe(topic, () => this.wake());
  }

  wake(): void {
    this.isWoken = true;
    this.resolve?.();
  }

  /** Until the topic is published again, or `signal` is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.isWoken && !signal.aborted) {
      const wake = () => this.wake();
      signal.addEventListener('abort', wake, { once: true });
      await new Promise<void>(resolve => {
        this.resolve = resolve;
      });
      signal.removeEventListener('abort', wake);
    }
    this.isWoken = false;
    this.resolve = undefined;
  }

  close(): void {
    this.unsubscribe();
  }
}
