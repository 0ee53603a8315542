import { Module } from '@nestjs/common';
import { HostsModule } from '../hosts/index.js';
import { Gateway } from './gateway.js';
import { HostedContents } from './hosted-contents.js';

/** The way in to sites and servers. */
@Module({
  imports: [HostsModule],
  providers: [Gateway, HostedContents],
  exports: [Gateway, HostedContents],
})
export class GatewayModule {}
