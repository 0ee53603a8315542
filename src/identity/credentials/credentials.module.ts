import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import { Credentials } from '../../platform/access/index.js';
import {
  AccessTokenGuard,
  ApiKeyGuard,
  CredentialGuard,
  OAuthTokenGuard,
} from '../../platform/credentials/index.js';
import { SessionsModule } from '../sessions/index.js';
import { CredentialsStore } from './credentials.store.js';
import { JwtStrategy } from './jwt.strategy.js';

/** Who stands behind a key or an access token, for the platform to ask. Its guard closes every route of the service. */
@Global()
@Module({
  imports: [PassportModule, SessionsModule],
  providers: [
    { provide: Credentials, useClass: CredentialsStore },
    JwtStrategy,
    ApiKeyGuard,
    AccessTokenGuard,
    OAuthTokenGuard,
    { provide: APP_GUARD, useClass: CredentialGuard },
  ],
  exports: [Credentials, OAuthTokenGuard],
})
export class CredentialsModule {}
