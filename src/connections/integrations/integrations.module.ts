import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { StoredCredentialsModule } from '../stored-credentials/index.js';
import { ConnectionGrantsService } from './connection-grants.service.js';
import { ConnectionViews } from './connection-views.js';
import { IntegrationAuthorizationService } from './integration-authorization.service.js';
import { IntegrationsService } from './integrations.service.js';
import { ConnectionFlow } from './oauth/connection-flow.js';
import { ConnectionRefresher } from './oauth/connection-refresher.js';
import { CONNECTIONS, ConnectionRemoval } from './oauth/connection-removal.js';
import { ConnectionStarts } from './oauth/connection-starts.js';
import { ConnectionStates } from './oauth/connection-states.js';
import { ConnectionsProcessor } from './oauth/connections.processor.js';
import { LimitedTokens } from './oauth/limited-tokens.js';
import { ProviderCalls } from './oauth/provider-calls.js';
import { ProviderCatalog } from './oauth/provider-catalog.js';
import { ProvidersService } from './providers.service.js';
import { ConnectionsStore } from './records/connections.store.js';
import { GrantsStore } from './records/grants.store.js';
import { LimitedTokensStore } from './records/limited-tokens.store.js';
import { ProvidersStore } from './records/providers.store.js';
import { ConnectionGrants } from './requests/connection-grants.js';
import { ConnectionRequestsService } from './requests/connection-requests.service.js';
import { GrantedConnections } from './requests/granted-connections.js';

@Module({
  imports: [
    BullModule.registerQueue({ name: CONNECTIONS }),
    OrganizationsModule,
    CoreModule,
    StoredCredentialsModule,
  ],
  controllers: [
    RoutesOf(ProvidersService),
    RoutesOf(IntegrationsService),
    RoutesOf(IntegrationAuthorizationService),
    RoutesOf(ConnectionGrantsService),
    RoutesOf(ConnectionRequestsService),
  ],
  providers: [
    ProvidersService,
    IntegrationsService,
    IntegrationAuthorizationService,
    ConnectionGrantsService,
    ConnectionRequestsService,
    ConnectionsStore,
    GrantsStore,
    ProvidersStore,
    LimitedTokensStore,
    ProviderCatalog,
    ProviderCalls,
    ConnectionStarts,
    ConnectionFlow,
    ConnectionRefresher,
    LimitedTokens,
    ConnectionRemoval,
    ConnectionsProcessor,
    ConnectionStates,
    ConnectionViews,
    GrantedConnections,
    ConnectionGrants,
  ],
  exports: [GrantedConnections],
})
export class IntegrationsModule {}
