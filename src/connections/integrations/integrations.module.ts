import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { FlowsModule } from '../flows/index.js';
import { TokensModule } from '../tokens/index.js';
import { ConnectionGrantsService } from './connection-grants.service.js';
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
import { ConnectionRequestsService } from './requests/connection-requests.service.js';
import { GrantConflicts } from './requests/grant-conflicts.js';
import { GrantedConnections } from './requests/granted-connections.js';
import { ConnectionViews } from './views/connection-views.js';

/** Connections to services of others. */
@Module({
  imports: [
    BullModule.registerQueue({ name: CONNECTIONS }),
    OrganizationsModule,
    CoreModule,
    TokensModule,
    FlowsModule,
  ],
  controllers: [
    RoutesOf(ProvidersService),
    RoutesOf(IntegrationsService),
    RoutesOf(ConnectionGrantsService),
    RoutesOf(ConnectionRequestsService),
  ],
  providers: [
    ProvidersService,
    IntegrationsService,
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
    GrantConflicts,
  ],
  exports: [GrantedConnections],
})
export class IntegrationsModule {}
