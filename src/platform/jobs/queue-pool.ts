import { Injectable } from '@nestjs/common';
import pg from 'pg';
import { CONNECTION_SETTINGS, DatabaseClient, DatabaseConnection, QUERY_MS } from '../database/index.js';

/** Each of the workers keeps one connection to hear of new jobs; the others are for what all of them ask. */
const MAX_CONNECTIONS = 16;

/** The connections of the queue to its schema in the database, for all queues and workers together. */
@Injectable()
export class QueuePool {
  readonly connections: pg.Pool;

  constructor(database: DatabaseConnection) {
    this.connections = new pg.Pool({
      connectionString: database.connectionString,
      max: MAX_CONNECTIONS,
      Client: DatabaseClient,
      ...CONNECTION_SETTINGS,
      query_timeout: QUERY_MS,
      // What the queue notes of a job need not survive a crash of the database: jobs are added in our own transactions, and
      // one whose end was forgotten runs again, which is harmless.
      options: '-c search_path=bullmq -c synchronous_commit=off',
    });
    // Every queue and every worker listens.
    this.connections.setMaxListeners(0);
  }
}
