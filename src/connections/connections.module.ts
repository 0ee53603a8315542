import { Module } from '@nestjs/common';
import { ConnectorsModule } from './connectors/index.js';
import { DeliveryModule } from './delivery/index.js';
import { FlowsModule } from './flows/index.js';
import { GitReposModule } from './git-repos/index.js';
import { IntegrationsModule } from './integrations/index.js';
import { TokensModule } from './tokens/index.js';

/** With whom: services of others, and the credentials for them. */
@Module({
  imports: [TokensModule, FlowsModule, ConnectorsModule, IntegrationsModule, DeliveryModule, GitReposModule],
})
export class ConnectionsModule {}
