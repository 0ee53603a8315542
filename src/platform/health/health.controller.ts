import { Controller, Get, Inject } from '@nestjs/common';
import { Public } from '../access/access.js';
import { Config } from '../config/config.js';
import { Database } from '../database/database.js';
import { Unavailable } from '../http/problem.js';
import { Documents } from '../http/serves.js';
import { Log } from '../log/log.js';
import { HealthView, MetadataView, ReadinessView } from './health.dto.js';

export const VERSION = '0.1.0';

@Controller()
export class HealthController {
  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Log) private readonly log: Log,
  ) {}

  @Documents({ summary: 'Tell that the process is alive', input: null, output: HealthView })
  @Public()
  @Get('/api/health')
  health(): HealthView {
    return { status: 'ok' };
  }

  @Documents({
    summary: 'Tell that requests can be served',
    input: null,
    output: ReadinessView,
    refuses: { 503: 'The database does not answer' },
  })
  @Public()
  @Get('/api/health/ready')
  async ready(): Promise<ReadinessView> {
    const start = performance.now();
    try {
      await this.database.transaction(unit => unit.entities.execute('select 1'));
    } catch (error) {
      this.log.error({ err: error }, 'not ready: the database does not answer');
      throw new Unavailable('The database does not answer');
    }
    return { status: 'ready', database_ms: Math.round(performance.now() - start) };
  }

  @Documents({ summary: 'Describe the service', input: null, output: MetadataView })
  @Public()
  @Get('/api/health/metadata')
  metadata(): MetadataView {
    const { role, registration } = this.config;
    return { name: 'Atelier', version: VERSION, role, registration, openapi: '/api/openapi.json' };
  }
}
