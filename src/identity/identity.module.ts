import { Module } from '@nestjs/common';
import { AccountsModule, Installation, User } from './accounts/index.js';
import { AuditLogModule } from './audit-log/index.js';
import { AuthModule } from './auth/index.js';
import { BillingModule } from './billing/index.js';
import { CredentialsModule } from './credentials/index.js';
import { Invitation, InvitationsModule } from './invitations/index.js';
import { KeysModule } from './keys/index.js';
import { OAuthModule } from './oauth/index.js';
import { OrganizationsModule } from './organizations/index.js';
import { PageSessionsModule } from './page-sessions/index.js';
import { ServiceAccountsModule } from './service-accounts/index.js';
import { SessionsModule } from './sessions/index.js';

export const identityEntities = [Installation, User, Invitation];

/** Who people and programs are, and what organizations they belong to. */
@Module({
  imports: [
    OrganizationsModule,
    AccountsModule,
    SessionsModule,
    KeysModule,
    CredentialsModule,
    AuthModule,
    PageSessionsModule,
    ServiceAccountsModule,
    OAuthModule,
    InvitationsModule,
    BillingModule,
    AuditLogModule,
  ],
})
export class IdentityModule {}
