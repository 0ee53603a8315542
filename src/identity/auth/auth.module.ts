import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { AccountsService } from '../accounts/accounts.service.js';
import { InvitedAccounts } from '../accounts/invited-accounts.js';
import { OrganizationsModule } from '../organizations/index.js';
import { OwnSessionsService } from '../sessions/own-sessions.service.js';
import { SessionsController } from '../sessions/sessions.controller.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { TokenKey } from '../sessions/token-key.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { AccountMail } from './email/account-mail.js';
import { EmailController } from './email/email.controller.js';
import { EmailChangeService } from './email/email-change.service.js';
import { EmailTokens } from './email/email-tokens.js';
import { EmailVerificationService } from './email/email-verification.service.js';
import { AuthPagesController } from './pages/auth-pages.controller.js';
import { ACCOUNT_QUEUE } from './passwords/password-reset.jobs.js';
import { PasswordResetProcessor } from './passwords/password-reset.processor.js';
import { PasswordResetService } from './passwords/password-reset.service.js';
import { PasswordsController } from './passwords/passwords.controller.js';
import { PasswordsService } from './passwords/passwords.service.js';
import { StandingCredentials } from './passwords/standing-credentials.js';
import { Attempts } from './protection/attempts.js';
import { LoginProtection } from './protection/login-protection.js';
import { Quotas } from './protection/quotas.js';
import { SetupToken } from './setup-token.js';
import { Fronts } from './visits/front.js';
import { PageVisits } from './visits/page-visits.js';
import { SignIns } from './visits/sign-ins.js';

/** Accounts, and how people sign in to them. */
@Module({
  imports: [JwtModule.register({}), OrganizationsModule, BullModule.registerQueue({ name: ACCOUNT_QUEUE })],
  controllers: [
    AuthController,
    SessionsController,
    PasswordsController,
    EmailController,
    AuthPagesController,
  ],
  providers: [
    AccountsService,
    InvitedAccounts,
    AuthService,
    SetupToken,
    SessionsService,
    OwnSessionsService,
    TokenKey,
    PasswordsService,
    StandingCredentials,
    PasswordResetService,
    PasswordResetProcessor,
    EmailVerificationService,
    EmailTokens,
    EmailChangeService,
    AccountMail,
    Attempts,
    LoginProtection,
    Quotas,
    SignIns,
    PageVisits,
    Fronts,
  ],
  exports: [
    AccountsService,
    InvitedAccounts,
    AuthService,
    PasswordsService,
    EmailChangeService,
    SetupToken,
    TokenKey,
    Quotas,
    LoginProtection,
    SignIns,
    PageVisits,
    Fronts,
  ],
})
export class AuthModule {}
