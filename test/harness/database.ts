import { randomBytes } from 'node:crypto';
import pg from 'pg';

const MAX_CONNECTIONS = 4;
const IDLE_MS = 2000;
/** It waits for all connections of the server, also for one that is in the middle of an answer to a program that does not read. */
const DROP_MS = 60_000;

/** A database of a test's own: a clone of the migrated template. */
export class TestDatabase {
  /** Connecting takes thirty times as long as most queries. */
  private pool: pg.Pool | undefined;

  private constructor(
    readonly url: string,
    private readonly name: string,
  ) {}

  static create(): Promise<TestDatabase> {
    return TestDatabase.from('atelier_template');
  }

  /** As an operator makes it: with nothing in it. */
  static createEmpty(): Promise<TestDatabase> {
    return TestDatabase.from('template0');
  }

  private static async from(template: string): Promise<TestDatabase> {
    const name = `test_${randomBytes(6).toString('hex')}`;
    // Copying the files costs a tenth of writing them to the log as well.
    await administer(`create database ${name} template ${template} strategy file_copy`);
    const url = new URL(templateUrl());
    url.pathname = `/${name}`;
    return new TestDatabase(url.href, name);
  }

  async query<T extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<T[]> {
    this.pool ??= this.connect();
    return (await this.pool.query<T>(sql, values)).rows;
  }

  private connect(): pg.Pool {
    const pool = new pg.Pool({
      connectionString: this.url,
      max: MAX_CONNECTIONS,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
    });
    // Tests also end connections, and the server; the next query gets a new one.
    return pool.on('error', () => undefined);
  }

  /** Gives up its connections, until the next query. */
  async disconnect(): Promise<void> {
    const { pool } = this;
    this.pool = undefined;
    await pool?.end();
  }

  async drop(): Promise<void> {
    await this.disconnect();
    try {
      await administer(`drop database ${this.name} with (force)`, DROP_MS);
    } catch (error) {
      // It goes with the server, at the end of all tests.
      process.stderr.write(`${this.name} was not dropped: ${error}\n`);
    }
  }
}

function templateUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (!url) throw new Error('The test database is started by the global set-up of Jest');
  return url;
}

async function administer(sql: string, statement_timeout?: number): Promise<void> {
  const url = new URL(templateUrl());
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href, statement_timeout });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
