import { Module } from '@nestjs/common';
import { EgressModule } from '../../workspaces/egress/index.js';
import { IntegrationsModule } from '../integrations/index.js';
import { ConnectionUses } from './connection-uses.js';
import { DeliveredRules } from './delivered-rules.js';
import { Delivery } from './delivery.js';

/** Puts the credentials of connections into requests of sandboxes, which never have them. */
@Module({
  imports: [EgressModule, IntegrationsModule],
  providers: [Delivery, DeliveredRules, ConnectionUses],
  exports: [DeliveredRules],
})
export class DeliveryModule {}
