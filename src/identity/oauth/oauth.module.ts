import { Module } from '@nestjs/common';
import { Credentials } from '../../platform/access/access.js';
import { OAuthTokenGuard } from '../../platform/credentials/credential.guard.js';
import { AuthModule } from '../auth/auth.module.js';
import { CredentialsService } from '../credentials.service.js';
import { OrganizationsModule } from '../organizations/index.js';
import { SharedCredentials } from '../shared-credentials.js';
import { ClientsStore } from './clients/clients.store.js';
import { ServiceAccountClients } from './clients/service-account-clients.js';
import { ConsentService } from './consent/consent.service.js';
import { ConsentPages } from './consent/consent-pages.js';
import { WorkspaceChoices } from './consent/workspace-choices.js';
import { GrantsController } from './grants/grants.controller.js';
import { GrantsService } from './grants/grants.service.js';
import { GrantsStore } from './grants/grants.store.js';
import { OAuthSeal } from './keys/seal.js';
import { SigningKeys } from './keys/signing-keys.js';
import { OAuthStrategy } from './oauth.strategy.js';
import { InteractionController } from './pages/interaction.controller.js';
import { LoginPages } from './pages/login-pages.js';
import { DocumentQuota } from './provider/document-quota.js';
import { OAuthController } from './provider/oauth.controller.js';
import { OAuthProvider } from './provider/oauth-provider.js';
import { OAuthResources } from './resources.js';
import { OAuthAdapters } from './store/adapters.js';
import { ArtifactsStore } from './store/artifacts.store.js';
import { DevicePollsStore } from './store/device-polls.store.js';
import { DpopProofs } from './tokens/dpop.js';
import { OAuthTokens } from './tokens/oauth-tokens.js';
import { TokenHandles } from './tokens/token-handles.js';
import { TokenOwners } from './tokens/token-owners.js';
import { WellKnownController } from './well-known.controller.js';

/** The OAuth 2.1 authorization server, and what verifies its tokens. */
@Module({
  imports: [AuthModule, OrganizationsModule],
  controllers: [InteractionController, OAuthController, WellKnownController, GrantsController],
  providers: [
    CredentialsService,
    { provide: Credentials, useClass: SharedCredentials },
    OAuthResources,
    OAuthSeal,
    SigningKeys,
    ArtifactsStore,
    DevicePollsStore,
    ClientsStore,
    ServiceAccountClients,
    GrantsStore,
    GrantsService,
    OAuthAdapters,
    DocumentQuota,
    OAuthProvider,
    ConsentService,
    ConsentPages,
    LoginPages,
    WorkspaceChoices,
    TokenHandles,
    TokenOwners,
    DpopProofs,
    OAuthTokens,
    OAuthStrategy,
    OAuthTokenGuard,
  ],
  exports: [OAuthTokens, OAuthResources, WorkspaceChoices, OAuthTokenGuard],
})
export class OAuthModule {}
