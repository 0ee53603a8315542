import { Module } from '@nestjs/common';
import { AccessModule } from './access/index.js';
import { BuildsModule } from './builds/index.js';
import { DomainsModule } from './domains/index.js';
import { GatewayModule } from './gateway/index.js';
import { HostsModule } from './hosts/index.js';
import { SitesModule } from './sites/index.js';
import { TunnelsModule } from './tunnels/index.js';

@Module({
  imports: [
    HostsModule,
    AccessModule,
    DomainsModule,
    BuildsModule,
    GatewayModule,
    SitesModule,
    TunnelsModule,
  ],
})
export class HostingModule {}
