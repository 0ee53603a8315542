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
import { CredentialsStore } from './credentials.store.js';

/** Who stands behind a key or an access token, for the platform to ask. Its guard closes every route of the service. */
@Global()
@Module({
  imports: [PassportModule],
  providers: [
    { provide: Credentials, useClass: CredentialsStore },
    ApiKeyGuard,
    AccessTokenGuard,
    OAuthTokenGuard,
    { provide: APP_GUARD, useClass: CredentialGuard },
  ],
  exports: [Credentials, OAuthTokenGuard],
})
export class CredentialsModule {}
