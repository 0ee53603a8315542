import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { type Actor, hashSecret, randomSecret } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, UnitOfWork } from '../../platform/database/index.js';
import { DeletedView } from '../../platform/dto/index.js';
import { Forbidden, NotFound, Unauthorized } from '../../platform/errors/index.js';
import { defineEvent, Events } from '../../platform/events/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { User } from '../accounts/index.js';
import { AccessTokenKeys, ISSUER } from './access-tokens.js';
import type { EndedSessionsView, EndSessions, SessionId } from './sessions.dto.js';
import { SessionsStore, type SignInSource } from './sessions.store.js';

const DAY_MS = 86_400_000;

/** A person has signed in, by the API or at a page: every session begins with it. */
export const signedIn = defineEvent<{
  /** Of the session. */
  id: string;
  user_id: string;
  user_agent: string | null;
  address: string;
}>('user.signed_in');

/** Signed proof of a sign-in, and the user it is of. */
export interface IssuedTokens {
  accessToken: string;
  refreshToken: string;
  expiresIn: number;
  user: User;
}

/** Sign-ins: opened, continued by rotating refresh tokens (RFC 9700 section 4.14), ended. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly database: Database,
    private readonly store: SessionsStore,
    private readonly jwt: JwtService,
    private readonly keys: AccessTokenKeys,
    private readonly config: Config,
    private readonly audit: Audit,
    private readonly events: Events,
  ) {}

  /** Opens a session for `user` in the caller's transaction. */
  async open(unit: UnitOfWork, user: User, from: SignInSource): Promise<IssuedTokens> {
    const { id, user_agent } = await this.store.insert(unit, user.id, from, this.config.refreshTokenSeconds);
    await this.events.publish(unit, signedIn, { id, user_id: user.id, user_agent, address: from.address });
    return this.issue(unit, id, user);
  }

  /**
   * Trades a refresh token for new tokens. Of two uses of the same one the second is refused and the session ends: one
   * of the two users of the token is not the person it was issued to.
   */
  async refresh(token: string): Promise<IssuedTokens> {
    const tokens = await this.database.transaction(unit => this.rotate(unit, hashSecret(token)));
    if (!tokens) throw new Unauthorized('This refresh token is not valid; sign in again');
    return tokens;
  }

  /** Ends the session that the refresh token belongs to; an unknown token has none. */
  async end(token: string): Promise<void> {
    await this.database.transaction(unit => this.store.revokeByToken(unit, hashSecret(token)));
  }

  /** Ends the session that asks. */
  async endOf(actor: Actor | undefined): Promise<void> {
    if (!actor) throw new Unauthorized('Send the access token of the session to end, or its refresh_token');
    const { type, id } = actor.credential;
    if (type !== 'session') throw new Forbidden('Only a sign-in can sign out; revoke a key or grant instead');
    await this.database.transaction(unit => this.store.revoke(unit, actor.id, id));
  }

  /** Ends all sessions of a user, but the one to keep; tells how many that were. Their access tokens stop at once. */
  endAll(unit: UnitOfWork, userId: string, kept?: string): Promise<number> {
    return this.store.revokeAll(unit, userId, kept);
  }

  /** Ends one of the caller's, at once; 404 for one that is not theirs or has ended. */
  async endOne(actor: Actor, { id }: SessionId): Promise<DeletedView> {
    await this.database.transaction(async unit => {
      if (!(await this.store.revoke(unit, actor.id, id))) throw new NotFound('No such session');
      await this.audit.record(unit, actor, 'session_revoke', { type: 'session', id });
    });
    return DeletedView.of(id);
  }

  /** Ends all of the caller's but the one that asks, or that one too. */
  async endOthers(actor: Actor, { current = false }: EndSessions): Promise<EndedSessionsView> {
    return this.database.transaction(async unit => {
      const ended = await this.endAll(unit, actor.id, current ? undefined : actor.credential.id);
      const target = { type: 'user', id: actor.id };
      if (ended > 0) await this.audit.record(unit, actor, 'session_revoke_all', target, { ended, current });
      return { ended };
    });
  }

  @Chore('remove_ended_sessions', { everyMs: DAY_MS })
  removeEnded(): Promise<void> {
    return this.store.deleteEnded();
  }

  private async rotate(unit: UnitOfWork, hash: string): Promise<IssuedTokens | undefined> {
    const token = await this.store.lockToken(unit, hash);
    const userId = token && (await this.store.userOf(unit, token.session_id));
    if (!token || !userId) return undefined;
    if (token.used_at) {
      await this.store.revoke(unit, userId, token.session_id);
      return undefined;
    }
    await this.store.useToken(unit, token, this.config.refreshTokenSeconds);
    return this.issue(unit, token.session_id, await unit.entities.findOneOrFail(User, { id: userId }));
  }

  private async issue(unit: UnitOfWork, sessionId: string, user: User): Promise<IssuedTokens> {
    const refreshToken = randomSecret();
    await this.store.addToken(unit, sessionId, hashSecret(refreshToken));
    const expiresIn = this.config.accessTokenSeconds;
    const { key, id } = this.keys.signing;
    const accessToken = this.jwt.sign(
      { sid: sessionId },
      {
        subject: user.id,
        issuer: ISSUER,
        algorithm: 'HS256',
        expiresIn,
        ...(id ? { keyid: id } : {}),
        // The types know keys as text only.
        secret: key as unknown as string,
      },
    );
    return { accessToken, refreshToken, expiresIn, user };
  }
}
