import { EventEmitter } from 'node:events';
import { Inject, Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { DatabaseConnection } from '../database/connection.js';
import type { UnitOfWork } from '../database/database.js';
import { Log } from '../log/log.js';

const CHANNEL = 'atelier';
const RECONNECT_MS = 250;
const MOST_RECONNECT_MS = 10_000;

/**
 * Wakes whoever waits for something to be committed, in any process, by PostgreSQL's LISTEN/NOTIFY. A signal carries no
 * data: who is woken looks at the database, which is the truth. After a lost connection everyone is woken once.
 */
@Injectable()
export class Signals implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly subscribers = new EventEmitter().setMaxListeners(0);
  private client: pg.Client | undefined;
  private closed = false;

  constructor(
    @Inject(DatabaseConnection) private readonly connection: DatabaseConnection,
    @Inject(Log) private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.listen();
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    await this.client?.end();
  }

  /** Sends the signal when the transaction commits. */
  async notify(unit: UnitOfWork, topic: string): Promise<void> {
    await unit.entities.execute('select pg_notify(?, ?)', [CHANNEL, topic]);
  }

  /** Calls `wake` after each signal for `topic`; returns what ends it. */
  subscribe(topic: string, wake: () => void): () => void {
    this.subscribers.on(topic, wake);
    return () => this.subscribers.off(topic, wake);
  }

  private async listen(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.connection.connectionString,
      application_name: 'atelier-signals',
      keepAlive: true,
    });
    client.on('notification', ({ payload }) => this.subscribers.emit(payload ?? ''));
    client.on('error', error => this.log.warn({ err: error }, 'signals: connection lost'));
    await client.connect();
    client.on('end', () => this.reconnect(RECONNECT_MS));
    await client.query(`listen ${CHANNEL}`);
    this.client = client;
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
