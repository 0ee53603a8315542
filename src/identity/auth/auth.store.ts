import { LockMode } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { hashSecret, randomSecret } from '../../platform/access/index.js';
import { ExecTokens } from '../../platform/actions/index.js';
import { Database, UnitOfWork } from '../../platform/database/index.js';
import { Gone } from '../../platform/errors/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { User } from '../accounts/index.js';

/** What a link sent by mail is good for. */
type EmailTokenPurpose = 'reset' | 'verify' | 'email';

/** A link that was sent to a person. It is deleted by its use. */
@Entity({ tableName: 'email_token' })
export class EmailToken {
  /** SHA-256 of the token. */
  @PrimaryKey({ type: 'text' })
  hash: string;

  @Property({ type: 'uuid' })
  userId: string;

  @Property({ type: 'text' })
  purpose: EmailTokenPurpose;

  /** The address that an account moves to by it. */
  @Property({ type: 'text', nullable: true })
  email: string | null = null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz' })
  expiresAt: Date;

  constructor(hash: string, userId: string, purpose: EmailTokenPurpose, lifeSeconds: number) {
    this.hash = hash;
    this.userId = userId;
    this.purpose = purpose;
    this.expiresAt = new Date(Date.now() + lifeSeconds * 1000);
  }
}

const LIFE_SECONDS: Record<EmailTokenPurpose, number> = { reset: 3600, verify: 3 * 86_400, email: 86_400 };

const SWEEP_MS = 3_600_000;

const spent = () => new Gone('This link was used, has expired or is not one of ours; ask for a new one');

/** Links sent by mail: 256 random bits, of which only the hash is kept, good for one use. */
@Injectable()
export class EmailTokens {
  constructor(private readonly database: Database) {}

  /** Makes a token for `user`. */
  issue(unit: UnitOfWork, user: User, purpose: EmailTokenPurpose, email?: string): string {
    const token = randomSecret();
    const row = unit.add(new EmailToken(hashSecret(token), user.id, purpose, LIFE_SECONDS[purpose]));
    row.email = email ?? null;
    return token;
  }

  /** Refuses (410) a token that is not good any more, without using it; answers whose it is, and the address it is about. */
  async require(
    purpose: EmailTokenPurpose,
    token: string,
  ): Promise<{ account: string; email: string | null }> {
    const row = await this.database
      .tables()
      .selectFrom('email_token')
      .innerJoin('user', 'user.id', 'email_token.user_id')
      .select(['user.email as account', 'email_token.email'])
      .where('hash', '=', hashSecret(token))
      .where('purpose', '=', purpose)
      .where('expires_at', '>', new Date().toISOString())
      .executeTakeFirst();
    if (!row) throw spent();
    return row;
  }

  /**
   * Uses a token, and with it all others of its kind that the person was sent. Returns the person, locked: of two uses at
   * once the second waits, and finds nothing.
   */
  async redeem(unit: UnitOfWork, purpose: EmailTokenPurpose, token: string): Promise<User> {
    return (await this.redeemWithAddress(unit, purpose, token)).user;
  }

  /** As {@link redeem}, with the address that the token is about. */
  async redeemWithAddress(
    unit: UnitOfWork,
    purpose: EmailTokenPurpose,
    token: string,
  ): Promise<{ user: User; email: string | null }> {
    const live = { hash: hashSecret(token), purpose, expiresAt: { $gt: new Date() } };
    const found = await unit.entities.findOne(EmailToken, live);
    if (!found) throw spent();
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
    const user = await unit.entities.findOneOrFail(User, { id: found.userId }, lock);
    if ((await unit.entities.nativeDelete(EmailToken, live)) === 0) throw spent();
    await this.revoke(unit, user, purpose);
    return { user, email: found.email };
  }

  /** Ends what a person was sent. */
  async revoke(unit: UnitOfWork, user: User, purpose: EmailTokenPurpose): Promise<void> {
    await unit.entities.nativeDelete(EmailToken, { userId: user.id, purpose });
  }

  /** How many links of a kind a person was sent that are still good. */
  countLive(unit: UnitOfWork, user: User, purpose: EmailTokenPurpose): Promise<number> {
    return unit.entities.count(EmailToken, { userId: user.id, purpose, expiresAt: { $gt: new Date() } });
  }

  @Chore('remove_email_tokens', { everyMs: SWEEP_MS })
  async removeExpired(): Promise<void> {
    await this.database.transaction(unit =>
      unit.entities.nativeDelete(EmailToken, { expiresAt: { $lt: new Date() } }),
    );
  }
}

/** What a person gave out that goes on without their password: API keys, and applications that they let in. */
@Injectable()
export class StandingCredentials {
  constructor(private readonly execTokens: ExecTokens) {}

  /** Ends all of them; tells how many. */
  async endAll(unit: UnitOfWork, userId: string): Promise<{ ended_keys: number; ended_grants: number }> {
    const keys = await sql<{ id: string }>`
      update api_key set revoked_at = now() where user_id = ${userId} and revoked_at is null
      returning id`.execute(unit.tables());
    const grants = await sql<{ id: string }>`
      delete from oauth_grant where user_id = ${userId} returning id`.execute(unit.tables());
    for (const { id } of [...keys.rows, ...grants.rows]) await this.execTokens.revokeFrom(unit, id);
    return { ended_keys: keys.rows.length, ended_grants: grants.rows.length };
  }
}
