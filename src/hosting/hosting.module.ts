import { Module } from '@nestjs/common';
import { BuildsModule } from './builds/index.js';
import { GatewayModule } from './gateway/index.js';
import { HostsModule } from './hosts/index.js';

/** Sites and servers, on hosts of their own. */
@Module({ imports: [HostsModule, GatewayModule, BuildsModule] })
export class HostingModule {}
