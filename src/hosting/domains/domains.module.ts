import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { HostsModule } from '../hosts/index.js';
import { DomainChanges } from './domain-changes.js';
import { DomainChecks } from './domain-checks.js';
import { DomainsService } from './domains.service.js';
import { DomainsStore } from './domains.store.js';
import { HostProofs } from './host-proofs.js';
import { ServerDomainsService } from './server-domains.service.js';
import { TlsQuestionController } from './tls-question.controller.js';

/** Hosts of people's own. */
@Module({
  imports: [HostsModule],
  controllers: [RoutesOf(DomainsService), RoutesOf(ServerDomainsService), TlsQuestionController],
  providers: [DomainChanges, DomainChecks, DomainsService, ServerDomainsService, DomainsStore, HostProofs],
  exports: [DomainChecks],
})
export class DomainsModule {}
