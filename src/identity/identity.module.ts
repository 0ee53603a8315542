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
import { KeysController } from './keys/keys.controller.js';
import { KeysService } from './keys/keys.service.js';
import { OrganizationsModule } from './organizations/index.js';
import { JwtStrategy } from './sessions/jwt.strategy.js';
import { SessionsService } from './sessions/sessions.service.js';
import { TokenKey } from './sessions/token-key.js';

/** Who people and programs are: accounts, sessions, keys, organizations. Its guard closes every route of the service. */
@Module({
  imports: [PassportModule, JwtModule.register({}), OrganizationsModule],
  controllers: [AuditLogController, AuthController, KeysController],
  providers: [
    AccountsService,
    AuditLogService,
    AuthService,
    SetupToken,
    KeysService,
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
