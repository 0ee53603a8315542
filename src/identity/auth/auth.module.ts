import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { SessionsModule } from '../sessions/index.js';
import { AccountMail } from './account-mail.js';
import { AccountsProcessor } from './accounts.processor.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { AuthPagesController } from './auth-pages.controller.js';
import { EmailChangeService, EmailVerificationService } from './email.service.js';
import { EmailTokensStore } from './email-tokens.store.js';
import { InvitedAccounts } from './invited-accounts.js';
import { IssuedCredentialsStore } from './issued-credentials.store.js';
import { LoginProtection } from './login-protection.js';
import { ACCOUNTS, PasswordResetService, PasswordsService } from './passwords.service.js';
import { Quotas } from './quotas.js';
import { RegistrationPolicy } from './registration-policy.js';
import { SetupToken } from './setup-token.js';

/** Accounts, and how people sign in to them. */
@Module({
  imports: [
    BullModule.registerQueue({ name: ACCOUNTS }),
    AccountsModule,
    OrganizationsModule,
    SessionsModule,
  ],
  controllers: [AuthController, AuthPagesController],
  providers: [
    AuthService,
    SetupToken,
    RegistrationPolicy,
    PasswordsService,
    IssuedCredentialsStore,
    PasswordResetService,
    EmailVerificationService,
    EmailTokensStore,
    EmailChangeService,
    InvitedAccounts,
    AccountMail,
    AccountsProcessor,
    LoginProtection,
    Quotas,
  ],
  exports: [
    AuthService,
    PasswordsService,
    EmailChangeService,
    EmailVerificationService,
    InvitedAccounts,
    SetupToken,
    Quotas,
    LoginProtection,
  ],
})
export class AuthModule {}
