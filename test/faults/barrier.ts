import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { TestService } from '../harness/service.js';

/** Keeps statements of workers that write to these tables waiting, as if the database were slow just there. */
export class Barrier {
  private constructor(private readonly client: pg.Client) {}

  static async raise({ database }: Pick<TestService, 'database'>, ...tables: string[]): Promise<Barrier> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('begin');
    await client.query(`lock table ${tables.join(', ')} in share mode`);
    return new Barrier(client);
  }

  /** Resolves when that many statements wait; waiting for a lock causes no event. */
  async holds(count: number): Promise<void> {
    while ((await this.waiting()).length < count) await sleep(50);
  }

  /** Ends the connections that wait, and what they were about to write with them. */
  async undo(): Promise<void> {
    for (const pid of await this.waiting()) await this.client.query('select pg_terminate_backend($1)', [pid]);
  }

  async lift(): Promise<void> {
    await this.client.query('rollback');
    await this.client.end();
  }

  private async waiting(): Promise<number[]> {
    const { rows } = await this.client.query(
      `select distinct pid from pg_locks where not granted and pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())`,
    );
    return rows.map(({ pid }) => pid);
  }
}
