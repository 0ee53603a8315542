import { Module } from '@nestjs/common';
import { CoreModule } from '../../workspaces/core/index.js';
import { HostNames } from './host-names.js';
import { HostNamesStore } from './host-names.store.js';
import { HostTable } from './host-table.js';
import { HostedRegistry } from './hosted-registry.js';
import { HostedTargets } from './hosted-targets.js';
import { HostingDomain } from './hosting-domain.js';
import { LongPolls } from './long-polls.js';

@Module({
  imports: [CoreModule],
  providers: [HostingDomain, HostNamesStore, HostNames, HostTable, HostedTargets, HostedRegistry, LongPolls],
  exports: [HostingDomain, HostNames, HostTable, HostedTargets, HostedRegistry, LongPolls],
})
export class HostsModule {}
