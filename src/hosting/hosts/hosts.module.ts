import { Module } from '@nestjs/common';
import { CoreModule } from '../../workspaces/core/index.js';
import { HostNames } from './host-names.js';
import { HostNamesStore } from './host-names.store.js';
import { HostTable } from './host-table.js';
import { HostedTargets } from './hosted-targets.js';
import { HostingDomain } from './hosting-domain.js';

/** Which host leads to which site or server. */
@Module({
  imports: [CoreModule],
  providers: [HostingDomain, HostNamesStore, HostNames, HostTable, HostedTargets],
  exports: [HostingDomain, HostNames, HostTable, HostedTargets],
})
export class HostsModule {}
