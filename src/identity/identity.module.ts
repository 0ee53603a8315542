import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { Credentials } from '../platform/access/access.js';
import { ApiKeyStrategy } from '../platform/access/api-key.strategy.js';
import { AccessTokenGuard, ApiKeyGuard, CredentialGuard } from '../platform/access/credential.guard.js';
import { AccountsService } from './accounts/accounts.service.js';
import { AuditLogController } from './audit-log/audit-log.controller.js';
import { AuditLogService } from './audit-log/audit-log.service.js';
import { AuthController } from './auth/auth.controller.js';
import { AuthService } from './auth/auth.service.js';
import { SetupToken } from './auth/setup-token.js';
import { CredentialsService } from './credentials.service.js';
import { AcceptanceService } from './invitations/acceptance.service.js';
import { InvitationsController } from './invitations/invitations.controller.js';
import { InvitationsService } from './invitations/invitations.service.js';
import { InvitationsStore } from './invitations/invitations.store.js';
import { Keyring } from './keys/keyring.js';
import { KeysController } from './keys/keys.controller.js';
import { KeysService } from './keys/keys.service.js';
import { MembersController } from './members/members.controller.js';
import { MembersService } from './members/members.service.js';
import { MembersStore } from './members/members.store.js';
import { OrganizationsModule } from './organizations/index.js';
import { ServiceAccountKeysService } from './service-accounts/service-account-keys.service.js';
import { ServiceAccountsController } from './service-accounts/service-accounts.controller.js';
import { ServiceAccountsService } from './service-accounts/service-accounts.service.js';
import { ServiceAccountsStore } from './service-accounts/service-accounts.store.js';
import { JwtStrategy } from './sessions/jwt.strategy.js';
import { SessionsService } from './sessions/sessions.service.js';
import { TokenKey } from './sessions/token-key.js';

/** Who people and programs are: accounts, sessions, keys, organizations. Its guard closes every route of the service. */
@Module({
  imports: [PassportModule, JwtModule.register({}), OrganizationsModule],
  controllers: [
    AuditLogController,
    AuthController,
    InvitationsController,
    KeysController,
    MembersController,
    ServiceAccountsController,
  ],
  providers: [
    AccountsService,
    AuditLogService,
    AuthService,
    SetupToken,
    KeysService,
    Keyring,
    MembersService,
    MembersStore,
    InvitationsService,
    InvitationsStore,
    AcceptanceService,
    ServiceAccountsService,
    ServiceAccountsStore,
    ServiceAccountKeysService,
    SessionsService,
    TokenKey,
    { provide: Credentials, useClass: CredentialsService },
    ApiKeyStrategy,
    JwtStrategy,
    ApiKeyGuard,
    AccessTokenGuard,
    { provide: APP_GUARD, useClass: CredentialGuard },
  ],
  exports: [AuthService, SetupToken, KeysService, OrganizationsModule],
})
export class IdentityModule {}
