import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../core/index.js';
import { CredentialRules } from './credential-rules.js';
import { EgressService } from './egress.service.js';
import { EgressStore } from './egress.store.js';
import { EgressSockets } from './egress-sockets.js';

/** What commands in a sandbox may reach of the network. */
@Module({
  imports: [CoreModule],
  controllers: [RoutesOf(EgressService)],
  providers: [CredentialRules, EgressSockets, EgressService, EgressStore],
  exports: [CredentialRules, EgressSockets, EgressStore],
})
export class EgressModule {}
