import { Injectable } from '@nestjs/common';
import { decodeJwt } from 'jose';
import type { Actor } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { AuthService, type Login } from '../auth/index.js';
import type { SignInSource } from '../sessions/index.js';

/** Who signed in at the login page, and by which session: `acr` names it (the context of the authentication). */
export interface BrowserSignIn {
  accountId: string;
  acr: string;
}

/**
 * The sign-ins that browser sessions of the authorization server stand on: ordinary sessions, listed among the person's
 * others. Where one is ended, or all are by a new password, its browser has to sign in anew.
 */
@Injectable()
export class SignInsStore {
  constructor(
    private readonly database: Database,
    private readonly auth: AuthService,
  ) {}

  /** Throws what signing in throws: Unauthorized, TooManyRequests. */
  async open(login: Login, from: SignInSource): Promise<BrowserSignIn> {
    const { accessToken, user } = await this.auth.login(login, from);
    return { accountId: user.id, acr: String(decodeJwt(accessToken).sid) };
  }

  async isOpen(accountId: string, signIn: string | undefined): Promise<boolean> {
    if (signIn === undefined) return false;
    const row = await this.tables
      .selectFrom('session')
      .select('id')
      .where('id', '=', signIn)
      .where('user_id', '=', accountId)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** The person whom a sign-in is of, with all that they may do. */
  async personOf(accountId: string, signIn: string): Promise<Actor | undefined> {
    const person = await this.tables
      .selectFrom('user')
      .select(['id', 'name', 'email'])
      .where('id', '=', accountId)
      .executeTakeFirst();
    const unlimited = { scopes: null, expires_at: null, organization_id: null, workspace_ids: null };
    return person && { type: 'user', ...person, credential: { type: 'session', id: signIn, ...unlimited } };
  }

  async end(signIn: string): Promise<void> {
    await this.tables
      .updateTable('session')
      .set({ revoked_at: new Date().toISOString() })
      .where('id', '=', signIn)
      .where('revoked_at', 'is', null)
      .execute();
  }

  async accountExists(accountId: string): Promise<boolean> {
    const query = this.tables.selectFrom('user').select('id').where('id', '=', accountId);
    return (await query.executeTakeFirst()) !== undefined;
  }

  private get tables() {
    return this.database.tables();
  }
}
