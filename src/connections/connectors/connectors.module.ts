import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { FlowsModule } from '../flows/index.js';
import { TokensModule } from '../tokens/index.js';
import {
  ClientDocumentController,
  ClientRegistration,
  CONNECTORS,
  ConnectorAuthorization,
  ConnectorsProcessor,
  CredentialKeeper,
  TokenRefresher,
} from './authorization/index.js';
import {
  ConnectorCalls,
  ConnectorChecks,
  ConnectorClients,
  CredentialUse,
  ToolSync,
  UsableTools,
} from './calls/index.js';
import { ConnectorAuthorizationService, ConnectorTests } from './connector-authorization.service.js';
import { ConnectorCreation } from './connector-creation.service.js';
import { ConnectorRemoval } from './connector-removal.js';
import { ConnectorToolsService } from './connector-tools.service.js';
import { ConnectorUseService } from './connector-use.service.js';
import { ConnectorViews } from './connector-views.js';
import { ConnectorsService } from './connectors.service.js';
import { ConnectorsStore, CredentialsStore, GrantsStore, ToolsStore } from './records/index.js';
import { TypedClients } from './typed-clients.js';

/** Remote MCP servers: credentials, approved tools, calls. */
@Module({
  imports: [
    BullModule.registerQueue({ name: CONNECTORS }),
    OrganizationsModule,
    CoreModule,
    TokensModule,
    FlowsModule,
  ],
  controllers: [
    RoutesOf(ConnectorsService),
    RoutesOf(ConnectorCreation),
    RoutesOf(ConnectorTests),
    RoutesOf(ConnectorAuthorizationService),
    RoutesOf(ConnectorToolsService),
    RoutesOf(ConnectorUseService),
    ClientDocumentController,
  ],
  providers: [
    ConnectorsService,
    ConnectorCreation,
    ConnectorTests,
    ConnectorAuthorizationService,
    ConnectorToolsService,
    ConnectorUseService,
    ConnectorViews,
    ConnectorRemoval,
    TypedClients,
    ConnectorsStore,
    CredentialsStore,
    ToolsStore,
    GrantsStore,
    ConnectorClients,
    CredentialUse,
    ToolSync,
    UsableTools,
    ConnectorCalls,
    ConnectorChecks,
    ClientRegistration,
    ConnectorAuthorization,
    CredentialKeeper,
    TokenRefresher,
    ConnectorsProcessor,
  ],
  exports: [ConnectorCalls, UsableTools],
})
export class ConnectorsModule {}
