import type { AnyEntity, EntityClass } from '@mikro-orm/core';
import { DynamicModule, Global, Module } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { ActionsModule } from './actions/actions.module.js';
import { Audit } from './audit/audit.js';
import { Config } from './config/config.js';
import { DatabaseConnection } from './database/connection.js';
import { DatabaseModule } from './database/database.module.js';
import { PoolWatch } from './database/pool-watch.js';
import { Events } from './events/events.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { QueueModule } from './jobs/queue.module.js';
import { LimitsModule } from './limits/limits.module.js';
import { Log } from './log/log.js';
import { MailModule } from './mail/mail.module.js';
import { MaintenanceModule } from './maintenance/maintenance.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { StreamsModule } from './streams/streams.module.js';
import { LiveProcesses } from './topics/live-processes.js';
import { Signals } from './topics/signals.js';
import { Workers } from './workers/workers.js';

/** What the process was started with. */
export interface PlatformParts {
  config: Config;
  log: Log;
  database: DatabaseConnection;
  entities: EntityClass<AnyEntity>[];
  /** The way out to addresses that users name; public ones only, unless a test passes one in. */
  outgoing?: GuardedFetch;
}

@Global()
@Module({})
export class PlatformModule {
  static with({ config, log, database, entities, outgoing }: PlatformParts): DynamicModule {
    return {
      module: PlatformModule,
      imports: [
        DatabaseModule.with(entities),
        MetricsModule,
        QueueModule,
        MailModule,
        MaintenanceModule,
        LimitsModule,
        IdempotencyModule,
        StreamsModule,
        ActionsModule,
      ],
      providers: [
        { provide: Config, useValue: config },
        { provide: Log, useValue: log },
        { provide: DatabaseConnection, useValue: database },
        { provide: GuardedFetch, useValue: outgoing ?? new GuardedFetch() },
        PoolWatch,
        Signals,
        LiveProcesses,
        Events,
        Audit,
        Workers,
      ],
      exports: [
        PoolWatch,
        Config,
        Log,
        DatabaseConnection,
        GuardedFetch,
        Signals,
        LiveProcesses,
        Events,
        Audit,
        Workers,
      ],
    };
  }
}
