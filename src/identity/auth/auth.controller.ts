import { Controller, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Actor, OptionalCaller, Public } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Documents } from '../../platform/openapi/index.js';
import { userView } from '../accounts/index.js';
import { IssuedTokens, SessionsService, type SignInSource } from '../sessions/index.js';
import { Login, Logout, RefreshTokenInput, Register, SignedOutView, TokensView } from './auth.dto.js';
import { AuthService } from './auth.service.js';

@Controller()
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly sessions: SessionsService,
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
