import { Module } from '@nestjs/common';
import { AccessModule } from '../access/index.js';
import { HostsModule } from '../hosts/index.js';
import { Gateway } from './gateway.js';
import { GatewayRecord } from './gateway-record.js';
import { HostedContents } from './hosted-contents.js';
import { HostedRequests } from './hosted-requests.js';
import { HostedUpgrades } from './hosted-upgrades.js';
import { ReservedPaths } from './reserved-paths.js';
import { SiteActions } from './site-actions.js';

/** The way in to sites and servers. */
@Module({
  imports: [HostsModule, AccessModule],
  providers: [
    Gateway,
    GatewayRecord,
    HostedContents,
    HostedRequests,
    HostedUpgrades,
    ReservedPaths,
    SiteActions,
  ],
  exports: [Gateway, HostedContents, HostedUpgrades],
})
export class GatewayModule {}
