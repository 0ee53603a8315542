import { Module } from '@nestjs/common';
import { GatewayModule } from './gateway/index.js';
import { HostsModule } from './hosts/index.js';

/** Sites and servers, on hosts of their own. */
@Module({ imports: [HostsModule, GatewayModule] })
export class HostingModule {}
