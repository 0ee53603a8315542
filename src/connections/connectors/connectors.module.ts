import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../identity/organizations/index.js';
import { RoutesOf } from '../../platform/openapi/index.js';
import { CoreModule } from '../../workspaces/core/index.js';
import { StoredCredentialsModule } from '../stored-credentials/index.js';
import { ClientDocumentController } from './authorization/client-document.js';
import { ClientRegistration } from './authorization/client-registration.js';
import { ConnectorAuthorization } from './authorization/connector-authorization.js';
import { CONNECTORS, ConnectorsProcessor } from './authorization/connectors.processor.js';
import { CredentialKeeper } from './authorization/credential-keeper.js';
import { TokenRefresher } from './authorization/token-refresher.js';
import { ConnectorCalls } from './calls/connector-calls.js';
import { ConnectorChecks } from './calls/connector-checks.js';
import { ConnectorClients } from './calls/connector-clients.js';
import { CredentialUse } from './calls/credential-use.js';
import { ToolSync } from './calls/tool-sync.js';
import { UsableTools } from './calls/usable-tools.js';
import { ConnectorAuthorizationService, ConnectorTests } from './connector-authorization.service.js';
import { ConnectorCreation } from './connector-creation.service.js';
import { ConnectorRemoval } from './connector-removal.js';
import { ConnectorToolsService } from './connector-tools.service.js';
import { ConnectorUseService } from './connector-use.service.js';
import { ConnectorViews } from './connector-views.js';
import { ConnectorsService } from './connectors.service.js';
import { ConnectorsStore } from './records/connectors.store.js';
import { CredentialsStore } from './records/credentials.store.js';
import { GrantsStore } from './records/grants.store.js';
import { ToolsStore } from './records/tools.store.js';

/** Remote MCP servers: credentials, approved tools, calls. */
@Module({
  imports: [
    BullModule.registerQueue({ name: CONNECTORS }),
    OrganizationsModule,
    CoreModule,
    StoredCredentialsModule,
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
