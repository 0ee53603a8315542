import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { Controller, Get } from '@nestjs/common';
import { sql } from 'kysely';
import { isDatabaseFull, PoolWatch, within, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import { Public } from '../access/index.js';
import { Config, VERSION } from '../config/index.js';
import { Database } from '../database/index.js';
import { Unavailable } from '../errors/index.js';
import { Leases } from '../leases/index.js';
import { Log } from '../log/index.js';
import { Documents } from '../openapi/index.js';
import { Vault } from '../vault/index.js';
import { HealthView, MetadataView, ReadinessView } from './health.dto.js';
import { HostingFacts } from './hosting-facts.js';

/** How long the database may take to answer where requests can be served. */
const READY_MS = 2_500;
/** When to ask again whether requests can be served. */
const RETRY = { 'retry-after': '5' };
/** With less than this on the disk of the workspaces, hardly anything can be written. */
const MIN_FREE_BYTES = 1024 * 1024;

@Controller()
export class HealthController {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly pool: PoolWatch,
    private readonly leases: Leases,
    private readonly vault: Vault,
    private readonly hosting: HostingFacts,
    private readonly log: Log,
  ) {}

  @Documents({
    name: 'health_get',
    summary: 'Tell that the process is alive',
    input: null,
    output: HealthView,
    refuses: { 503: 'The process is stuck and has to be restarted' },
  })
  @Public()
  @Get('/api/health')
  health(): HealthView {
    if (this.pool.isStuck)
      throw new Unavailable('No database connection was free for too long; restart this process');
    return { status: 'ok' };
  }

  @Documents({
    name: 'readiness_get',
    summary: 'Tell that requests can be served',
    input: null,
    output: ReadinessView,
    refuses: { 503: 'The database does not answer, a disk is full, or a vault key is missing' },
  })
  @Public()
  @Get('/api/health/ready')
  async ready(): Promise<ReadinessView> {
    const start = performance.now();
    let missingKey: string | undefined;
    try {
      await within(
        READY_MS,
        withQueryDeadline(READY_MS, async () => {
          await this.database.transaction(unit => sql`select 1`.execute(unit.tables()));
          // A database whose disk is full answers, and writes nothing.
          await this.leases.requireFresh();
          missingKey = await this.vault.missingKey();
        }),
      );
    } catch (error) {
      const what = isDatabaseFull(error)
        ? 'The disk of the database is full; free some space there'
        : 'The database does not answer';
      this.log.error({ err: error }, `not ready: ${what}`);
      throw new Unavailable(what, RETRY);
    }
    if (missingKey)
      throw new Unavailable(`A stored secret needs the vault key "${missingKey}", which is missing`, RETRY);
    await this.requireDisk();
    return { status: 'ready', database_ms: Math.round(performance.now() - start) };
  }

  private async requireDisk(): Promise<void> {
    const free = await freeBytes(path.resolve(this.config.dataDir, 'workspaces'));
    if (free !== null && free < MIN_FREE_BYTES)
      throw new Unavailable('The disk of the workspaces is full; free some space there', RETRY);
  }

  @Documents({ name: 'metadata_get', summary: 'Describe the service', input: null, output: MetadataView })
  @Public()
  @Get('/api/health/metadata')
  async metadata(): Promise<MetadataView> {
    const { role, registration } = this.config;
    const vault_keys = await this.vault.countByKey();
    return {
      name: 'Atelier',
      version: VERSION,
      role,
      registration,
      openapi: '/api/openapi.json',
      vault_keys,
      hosting: this.hosting.read(),
    };
  }
}

/** On the disk that has a folder; null: no workspace was made yet. */
async function freeBytes(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
