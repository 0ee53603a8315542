import { Controller, Ip, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Actor, Caller, OptionalCaller, Public } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Documents } from '../../platform/openapi/index.js';
import { userView } from '../accounts/index.js';
import { IssuedTokens, SessionsService, type SignInSource } from '../sessions/index.js';
import {
  ChangedView,
  ChangeEmail,
  ChangePassword,
  ConfirmEmailChange,
  ConfirmPasswordReset,
  Login,
  Logout,
  MailSentView,
  RefreshTokenInput,
  Register,
  RequestedView,
  RequestPasswordReset,
  SignedOutView,
  TokensView,
  VerifiedView,
  VerifyEmail,
} from './auth.dto.js';
import { AuthService } from './auth.service.js';
import { EmailChangeService, EmailVerificationService } from './email.service.js';
import { PasswordResetService, PasswordsService } from './passwords.service.js';

@Controller()
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly sessions: SessionsService,
    private readonly passwords: PasswordsService,
    private readonly resets: PasswordResetService,
    private readonly verification: EmailVerificationService,
    private readonly changes: EmailChangeService,
  ) {}

  @Documents({
    name: 'auth_register',
    summary: 'Make an account and sign in; the first account owns the installation',
    input: Register,
    output: TokensView,
    refuses: {
      403: 'Registration is closed, by invitation, or lacks the set-up token',
      409: 'The address has an account',
      429: 'Too many registrations from this address, or too many mails to that of the account',
    },
  })
  @Public()
  @Post('/api/auth/register')
  async register(@Input() input: Register, @Req() request: FastifyRequest): Promise<TokensView> {
    return tokensView(await this.auth.register(input, sourceOf(request)));
  }

  @Documents({
    name: 'auth_login',
    summary: 'Sign in with e-mail address and password',
    input: Login,
    output: TokensView,
    refuses: {
      401: 'Wrong e-mail address or password',
      429: 'Too many failed sign-ins from this address; the right password works from any other',
    },
  })
  @Public()
  @Post('/api/auth/login')
  async login(@Input() input: Login, @Req() request: FastifyRequest): Promise<TokensView> {
    return tokensView(await this.auth.login(input, sourceOf(request)));
  }

  @Documents({
    name: 'auth_refresh',
    summary: 'Trade a refresh token for new tokens; using one twice ends its session',
    input: RefreshTokenInput,
    output: TokensView,
    refuses: { 401: 'Unknown, expired or used refresh token' },
  })
  @Public()
  @Post('/api/auth/refresh')
  async refresh(@Input() { refresh_token }: RefreshTokenInput): Promise<TokensView> {
    return tokensView(await this.sessions.refresh(refresh_token));
  }

  @Documents({
    name: 'auth_logout',
    summary: 'Sign out: ends the session that asks, or that of a refresh token',
    input: Logout,
    output: SignedOutView,
    refuses: { 401: 'Neither a session nor a refresh token', 403: 'A key or a program has no session' },
  })
  @Public({ orSignedIn: true })
  @Post('/api/auth/logout')
  async logout(
    @OptionalCaller() actor: Actor | undefined,
    @Input() { refresh_token }: Logout,
  ): Promise<SignedOutView> {
    if (refresh_token !== undefined) await this.sessions.end(refresh_token);
    else await this.sessions.endOf(actor);
    return { signed_out: true };
  }

  @Documents({
    name: 'password_change',
    summary: 'Change your password, and sign out everywhere else',
    input: ChangePassword,
    output: ChangedView,
    commitsAnswer: true,
    sessionOnly: true,
    refuses: { 403: 'The current password is wrong', 429: 'Too many wrong passwords from this address' },
  })
  @Post('/api/auth/password')
  changePassword(
    @Caller() actor: Actor,
    @Input() { current_password, new_password }: ChangePassword,
    @Ip() address: string,
  ): Promise<ChangedView> {
    return this.passwords.change(actor, current_password, new_password, address);
  }

  @Documents({
    name: 'password_reset_request',
    summary: 'Send a link for a new password to the address, if it has an account',
    input: RequestPasswordReset,
    output: RequestedView,
    refuses: { 429: 'Too many requests from this address', 503: 'The installation sends no mail' },
  })
  @Public()
  @Post('/api/auth/password/reset')
  async requestReset(
    @Input() { email }: RequestPasswordReset,
    @Ip() address: string,
  ): Promise<RequestedView> {
    await this.resets.request(email, address);
    return { requested: true };
  }

  @Documents({
    name: 'password_reset_confirm',
    summary: 'Choose a new password with a link that was sent; ends all sessions',
    input: ConfirmPasswordReset,
    output: ChangedView,
    refuses: { 410: 'The link was used, has expired or is unknown', 429: 'Too many tries from this address' },
  })
  @Public()
  @Post('/api/auth/password/reset/confirm')
  async confirmReset(
    @Input() { token, new_password }: ConfirmPasswordReset,
    @Ip() address: string,
  ): Promise<ChangedView> {
    await this.resets.confirm(token, new_password, address);
    return { changed: true };
  }

  @Documents({
    name: 'email_verify',
    summary: 'Confirm an e-mail address with a link that was sent',
    input: VerifyEmail,
    output: VerifiedView,
    refuses: { 410: 'The link was used, has expired or is unknown', 429: 'Too many tries from this address' },
  })
  @Public()
  @Post('/api/auth/email/verify')
  async verify(@Input() { token }: VerifyEmail, @Ip() address: string): Promise<VerifiedView> {
    await this.verification.verify(token, address);
    return { verified: true };
  }

  @Documents({
    name: 'email_change',
    summary: 'Move your account to another e-mail address: sends a link there, by which it changes',
    input: ChangeEmail,
    output: MailSentView,
    commitsAnswer: true,
    sessionOnly: true,
    refuses: {
      403: 'The password is wrong',
      429: 'Too many mails in this hour, or too many wrong passwords from this address',
      503: 'The installation sends no mail',
    },
  })
  @Post('/api/auth/email')
  changeEmail(
    @Caller() actor: Actor,
    @Input() input: ChangeEmail,
    @Ip() address: string,
  ): Promise<MailSentView> {
    return this.changes.request(actor, input, address);
  }

  @Documents({
    name: 'email_change_confirm',
    summary: 'Confirm your new e-mail address with a link that was sent; sessions stay',
    input: ConfirmEmailChange,
    output: ChangedView,
    refuses: {
      409: 'The address has another account',
      410: 'The link was used, has expired or is unknown',
      429: 'Too many tries from this address',
    },
  })
  @Public()
  @Post('/api/auth/email/confirm')
  async confirmChange(@Input() { token }: ConfirmEmailChange, @Ip() address: string): Promise<ChangedView> {
    await this.changes.confirm(token, address);
    return { changed: true };
  }

  @Documents({
    name: 'email_verification_send',
    summary: 'Send the link that confirms your e-mail address again',
    input: null,
    output: MailSentView,
    commitsAnswer: true,
    sessionOnly: true,
    refuses: {
      409: 'The address is verified already',
      429: 'Too many mails in this hour',
      503: 'The installation sends no mail',
    },
  })
  @Post('/api/auth/email/verification')
  async sendAgain(@Caller() actor: Actor): Promise<MailSentView> {
    return this.verification.sendAgain(actor);
  }
}

function sourceOf(request: FastifyRequest): SignInSource {
  return { userAgent: request.headers['user-agent'], address: request.ip };
}

function tokensView({ accessToken, refreshToken, expiresIn, user }: IssuedTokens): TokensView {
  return {
    access_token: accessToken,
    refresh_token: refreshToken,
    token_type: 'Bearer',
    expires_in: expiresIn,
    user: userView(user),
  };
}
