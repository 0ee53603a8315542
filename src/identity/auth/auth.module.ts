import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { SessionsModule } from '../sessions/index.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { EmailController } from './email/email.controller.js';
import { EmailChangeService } from './email/email-change.service.js';
import { EmailVerificationService } from './email/email-verification.service.js';
import { AccountMail } from './mail/account-mail.js';
import { EmailTokens } from './mail/email-tokens.js';
import { AuthPagesController } from './pages/auth-pages.controller.js';
import { PasswordResetService } from './passwords/password-reset.service.js';
import { PasswordsController } from './passwords/passwords.controller.js';
import { PasswordsService } from './passwords/passwords.service.js';
import { StandingCredentials } from './passwords/standing-credentials.js';
import { LoginProtection } from './protection/login-protection.js';
import { Quotas } from './protection/quotas.js';
import { SetupToken } from './setup-token.js';

/** Accounts, and how people sign in to them. */
@Module({
  imports: [AccountsModule, OrganizationsModule, SessionsModule],
  controllers: [AuthController, PasswordsController, EmailController, AuthPagesController],
  providers: [
    AuthService,
    SetupToken,
    PasswordsService,
    StandingCredentials,
    PasswordResetService,
    EmailVerificationService,
    EmailTokens,
    EmailChangeService,
    AccountMail,
    LoginProtection,
    Quotas,
  ],
  exports: [AuthService, PasswordsService, EmailChangeService, SetupToken, Quotas, LoginProtection],
})
export class AuthModule {}
