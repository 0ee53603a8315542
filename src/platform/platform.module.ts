import { DynamicModule, Global, Module } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { PoolWatch } from '#libs/resilient-postgres/index.js';
import { ActionsModule } from './actions/index.js';
import { Audit } from './audit/index.js';
import { Config } from './config/index.js';
import { DatabaseConnection, DatabaseModule } from './database/index.js';
import { Events } from './events/index.js';
import { TrustedProxies } from './http/index.js';
import { IdempotencyModule } from './idempotency/index.js';
import { Ingress } from './ingress/index.js';
import { JobsModule } from './jobs/index.js';
import { LeasesModule } from './leases/index.js';
import { LimitsModule } from './limits/index.js';
import { Log } from './log/index.js';
import { MailModule } from './mail/index.js';
import { MetricsModule } from './metrics/index.js';
import { RpcModule } from './rpc/index.js';
import { ScheduleModule } from './schedule/index.js';
import { StreamsModule } from './streams/index.js';
import { Topics } from './topics/index.js';
import { VaultModule } from './vault/index.js';
import { Workers } from './workers/index.js';

/** What the process was started with. */
export interface PlatformParts {
  config: Config;
  log: Log;
  database: DatabaseConnection;
  entities: Parameters<typeof DatabaseModule.with>[0];
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
        LeasesModule,
        RpcModule,
        MetricsModule,
        VaultModule,
        ScheduleModule,
        JobsModule,
        MailModule,
        LimitsModule,
        IdempotencyModule,
        StreamsModule,
        ActionsModule,
      ],
      providers: [
        { provide: Config, useValue: config },
        { provide: Log, useValue: log },
        { provide: DatabaseConnection, useValue: database },
        {
          provide: GuardedFetch,
          useValue: outgoing ?? new GuardedFetch({ privateHosts: config.outgoingPrivateHosts }),
        },
        PoolWatch,
        Topics,
        Events,
        Audit,
        Workers,
        Ingress,
        TrustedProxies,
      ],
      exports: [
        PoolWatch,
        Config,
        Log,
        DatabaseConnection,
        GuardedFetch,
        Topics,
        Events,
        Audit,
        Workers,
        Ingress,
        TrustedProxies,
      ],
    };
  }
}
