import { Module } from '@nestjs/common';
import { ConnectorsModule } from './connectors/index.js';
import { DeliveryModule } from './delivery/index.js';
import { GitReposModule } from './git-repos/index.js';
import { IntegrationsModule } from './integrations/index.js';
import { StoredCredentialsModule } from './stored-credentials/index.js';

/** With whom: services of others, and the credentials for them. */
@Module({
  imports: [StoredCredentialsModule, ConnectorsModule, IntegrationsModule, DeliveryModule, GitReposModule],
})
export class ConnectionsModule {}
