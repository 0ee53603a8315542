import { Module } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { AccessModule } from '../access/index.js';
import { HostsModule } from '../hosts/index.js';
import { Gateway } from './gateway.js';
import { GatewayProcess } from './gateway-process.js';
import { GatewayRecord } from './gateway-record.js';
import { HostedContents } from './hosted-contents.js';
import { HostedRequests } from './hosted-requests.js';
import { HostedUpgrades } from './hosted-upgrades.js';
import { Offload } from './offload.js';
import { OwnCredentials } from './own-credentials.js';
import { RequestLimits } from './request-limits.js';
import { ReservedPaths } from './reserved-paths.js';
import { SiteActions } from './site-actions.js';

@Module({
  imports: [HostsModule, AccessModule],
  providers: [
    Gateway,
    GatewayProcess,
    GatewayRecord,
    HostedContents,
    HostedRequests,
    HostedUpgrades,
    OwnCredentials,
    Offload,
    {
      provide: RequestLimits,
      inject: [Config],
      useFactory: ({ minuteLimits }: Config) => new RequestLimits(minuteLimits.hosted),
    },
    ReservedPaths,
    SiteActions,
  ],
  exports: [Gateway, GatewayProcess, HostedContents, HostedUpgrades, Offload],
})
export class GatewayModule {}
