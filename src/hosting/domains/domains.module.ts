import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { HostsModule } from '../hosts/index.js';
import { DomainChecks } from './domain-checks.js';
import { ServerDomainsService, SiteDomainsService } from './domains.service.js';
import { DomainsStore } from './domains.store.js';
import { HostProofs } from './host-proofs.js';
import { TlsQuestionController } from './tls-question.controller.js';

@Module({
  imports: [HostsModule],
  controllers: [RoutesOf(SiteDomainsService), RoutesOf(ServerDomainsService), TlsQuestionController],
  providers: [DomainChecks, SiteDomainsService, ServerDomainsService, DomainsStore, HostProofs],
  exports: [DomainChecks],
})
export class DomainsModule {}
