import { Inject, Injectable } from '@nestjs/common';
import pg from 'pg';
import { DatabaseConnection } from '../database/connection.js';

/** Each of the workers keeps one connection to hear of new jobs; the others are for what all of them ask. */
const MOST_CONNECTIONS = 16;

/**
 * A connection whose loss ends no process: BullMQ listens for errors only once it has a connection, and no more while it
 * closes one. Whoever waits for an answer on it hears of the loss anyway.
 */
class QueueClient extends pg.Client {
  constructor(settings?: pg.ClientConfig) {
    super(settings);
    this.expectLoss();
  }

  override removeAllListeners(event?: string | symbol): this {
    super.removeAllListeners(event);
    this.expectLoss();
    return this;
  }

  private expectLoss(): void {
    this.on('error', () => undefined);
  }
}

/** The connections of the queue to its schema in the database, for all queues and workers together. */
@Injectable()
export class QueuePool {
  readonly connections: pg.Pool;

  constructor(@Inject(DatabaseConnection) database: DatabaseConnection) {
    this.connections = new pg.Pool({
      connectionString: database.connectionString,
      max: MOST_CONNECTIONS,
      Client: QueueClient,
      keepAlive: true,
      // What the queue notes of a job need not survive a crash of the database: jobs are added in our own transactions, and
      // one whose end was forgotten runs again, which is harmless.
      options: '-c search_path=bullmq -c synchronous_commit=off',
    });
    // Every queue and every worker listens.
    this.connections.setMaxListeners(0);
  }
}
