import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  type PostgresConnection,
  startPostgres,
} from '../index.js';
import { removeScratch, scratchFolder } from './scratch.js';

/** What tests stand on: folders to start in, and everything they started stopped and removed after each. */
export class Ground {
  private readonly running: { stop(): Promise<void> }[] = [];
  private readonly template = mkdtempSync(path.join(os.tmpdir(), 'pg-template-'));

  async prepare(): Promise<void> {
    chmodSync(this.template, 0o755);
    await this.start(path.join(this.template, 'postgres'));
    await this.clear();
  }

  async start(dataDir: string, more: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
    return this.keep(await startPostgres({ dataDir, database: 'app', durable: false, ...more }));
  }

  /** Has something stopped after the test. */
  keep<Running extends { stop(): Promise<void> }>(running: Running): Running {
    this.running.push(running);
    return running;
  }

  /** A data folder with a database in it: a copy, which takes far less time than a first start. */
  usedFolder(folder = scratchFolder()): string {
    cpSync(this.template, folder, { recursive: true, filter: file => !file.endsWith('run') });
    return path.join(folder, 'postgres');
  }

  async clear(): Promise<void> {
    for (const one of this.running.splice(0)) await one.stop();
    removeScratch();
  }

  remove(): void {
    rmSync(this.template, { recursive: true, force: true });
  }
}

export async function ask(target: PostgresConnection | string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(typeof target === 'string' ? { connectionString: target } : target);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
