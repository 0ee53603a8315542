import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { AuthModule } from '../auth/index.js';
import { CredentialsModule } from '../credentials/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { PageSessionsModule } from '../page-sessions/index.js';
import { SessionsModule } from '../sessions/index.js';
import { GrantsService } from './grants/grants.service.js';
import { GrantsStore } from './grants/grants.store.js';
import { ConsentService } from './interactions/consent.service.js';
import { ConsentPages } from './interactions/consent-pages.js';
import { InteractionController } from './interactions/interaction.controller.js';
import { LoginPages } from './interactions/login-pages.js';
import { WorkspaceChoices } from './interactions/workspace-choices.js';
import { SigningKeys } from './keys/signing-keys.js';
import { SigningKeysStore } from './keys/signing-keys.store.js';
import { OAuthAdapters } from './provider/adapters.js';
import { ClientDocuments } from './provider/client-documents.js';
import { OAuthController, WellKnownController } from './provider/oauth.controller.js';
import { OAuthProvider } from './provider/oauth-provider.js';
import { ProviderConfiguration } from './provider/provider-configuration.js';
import { OAuthResources } from './scopes/oauth-resources.js';
import { ArtifactsStore } from './storage/artifacts.store.js';
import { ClientsStore, ServiceAccountClients } from './storage/clients.store.js';
import { DpopProofs } from './tokens/dpop-proofs.js';
import { OAuthStrategy, OAuthTokens } from './tokens/oauth-tokens.js';
import { TokenHandles } from './tokens/token-handles.js';
import { TokenOwnersStore } from './tokens/token-owners.store.js';

/** The OAuth 2.1 authorization server, and what verifies its tokens. */
@Module({
  imports: [AuthModule, CredentialsModule, OrganizationsModule, PageSessionsModule, SessionsModule],
  controllers: [InteractionController, OAuthController, WellKnownController, RoutesOf(GrantsService)],
  providers: [
    OAuthResources,
    SigningKeys,
    SigningKeysStore,
    ArtifactsStore,
    ClientsStore,
    ServiceAccountClients,
    GrantsStore,
    GrantsService,
    OAuthAdapters,
    ClientDocuments,
    ProviderConfiguration,
    OAuthProvider,
    ConsentService,
    ConsentPages,
    LoginPages,
    WorkspaceChoices,
    TokenHandles,
    TokenOwnersStore,
    DpopProofs,
    OAuthTokens,
    OAuthStrategy,
  ],
  exports: [OAuthTokens, OAuthResources, WorkspaceChoices],
})
export class OAuthModule {}
