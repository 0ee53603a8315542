import { Module } from '@nestjs/common';
import { EgressModule } from '../../workspaces/egress/index.js';
import { IntegrationsModule } from '../integrations/index.js';
import { ConnectionUses } from './connection-uses.js';
import { Delivery } from './delivery.js';

/** Puts the credentials of connections into requests of sandboxes, which never have them. */
@Module({
  imports: [EgressModule, IntegrationsModule],
  providers: [Delivery, ConnectionUses],
})
export class DeliveryModule {}
