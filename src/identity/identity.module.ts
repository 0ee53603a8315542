import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import { Credentials } from '../platform/access/access.js';
import { ApiKeyStrategy } from '../platform/credentials/api-key.strategy.js';
import { AccessTokenGuard, ApiKeyGuard, CredentialGuard } from '../platform/credentials/credential.guard.js';
import { AuditLogController } from './audit-log/audit-log.controller.js';
import { AuditLogService } from './audit-log/audit-log.service.js';
import { AuthModule } from './auth/auth.module.js';
import { BillingModule } from './billing/index.js';
import { CredentialsService } from './credentials.service.js';
import { AcceptanceService } from './invitations/acceptance.service.js';
import { InvitationLetter } from './invitations/invitation-letter.js';
import { InvitationsController } from './invitations/invitations.controller.js';
import { InvitationsService } from './invitations/invitations.service.js';
import { InvitationsStore } from './invitations/invitations.store.js';
import { MailAllowance } from './invitations/mail-allowance.js';
import { InvitationPagesController } from './invitations/pages/invitation-pages.controller.js';
import { InvitationPages } from './invitations/pages/invitation-pages.js';
import { Keyring } from './keys/keyring.js';
import { KeysController } from './keys/keys.controller.js';
import { KeysService } from './keys/keys.service.js';
import { MembersController } from './members/members.controller.js';
import { MembersService } from './members/members.service.js';
import { MembersStore } from './members/members.store.js';
import { OAuthModule } from './oauth/index.js';
import { OrganizationsModule } from './organizations/index.js';
import { ServiceAccountKeysService } from './service-accounts/service-account-keys.service.js';
import { ServiceAccountsController } from './service-accounts/service-accounts.controller.js';
import { ServiceAccountsService } from './service-accounts/service-accounts.service.js';
import { ServiceAccountsStore } from './service-accounts/service-accounts.store.js';
import { JwtStrategy } from './sessions/jwt.strategy.js';
import { SharedCredentials } from './shared-credentials.js';

/** Who people and programs are: accounts, sessions, keys, organizations. Its guard closes every route of the service. */
@Module({
  imports: [PassportModule, AuthModule, OrganizationsModule, BillingModule, OAuthModule],
  controllers: [
    AuditLogController,
    InvitationsController,
    InvitationPagesController,
    KeysController,
    MembersController,
    ServiceAccountsController,
  ],
  providers: [
    AuditLogService,
    KeysService,
    Keyring,
    MembersService,
    MembersStore,
    InvitationsService,
    InvitationsStore,
    InvitationLetter,
    MailAllowance,
    AcceptanceService,
    InvitationPages,
    ServiceAccountsService,
    ServiceAccountsStore,
    ServiceAccountKeysService,
    CredentialsService,
    { provide: Credentials, useClass: SharedCredentials },
    ApiKeyStrategy,
    JwtStrategy,
    ApiKeyGuard,
    AccessTokenGuard,
    { provide: APP_GUARD, useClass: CredentialGuard },
  ],
  exports: [
    AuthModule,
    Credentials,
    KeysService,
    MailAllowance,
    OrganizationsModule,
    BillingModule,
    OAuthModule,
  ],
})
export class IdentityModule {}
