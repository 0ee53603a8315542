import { Module } from '@nestjs/common';
import { BuildsModule } from './builds/index.js';
import { GatewayModule } from './gateway/index.js';

import { SitesModule } from './sites/index.js';
import { TunnelsModule } from './tunnels/index.js';

@Module({
  imports: [BuildsModule, GatewayModule, SitesModule, TunnelsModule],
})
export class HostingModule {}
