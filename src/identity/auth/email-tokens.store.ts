import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { hashSecret, randomSecret } from '../../platform/access/index.js';
import { Database, UnitOfWork } from '../../platform/database/index.js';
import { Gone } from '../../platform/errors/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { User } from '../accounts/index.js';

/** What a link sent by mail is good for. */
type EmailTokenPurpose = 'reset' | 'verify' | 'email';

const LIFE_SECONDS: Record<EmailTokenPurpose, number> = { reset: 3600, verify: 3 * 86_400, email: 86_400 };

const SWEEP_MS = 3_600_000;

const spent = () => new Gone('This link was used, has expired or is not one of ours; ask for a new one');

/** Links sent by mail: 256 random bits, of which only the hash is kept, good for one use. */
@Injectable()
export class EmailTokensStore {
  constructor(private readonly database: Database) {}

  /** Makes a token for `user`; of one that moves the account, with the new address. */
  async issue(unit: UnitOfWork, user: User, purpose: EmailTokenPurpose, email?: string): Promise<string> {
    const token = randomSecret();
    await sql`
      insert into email_token (hash, user_id, purpose, email, created_at, expires_at)
      values (${hashSecret(token)}, ${user.id}, ${purpose}, ${email ?? null}, now(),
        now() + make_interval(secs => ${LIFE_SECONDS[purpose]}))`.execute(unit.tables());
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
    const live = sql`hash = ${hashSecret(token)} and purpose = ${purpose} and expires_at > now()`;
    const { rows: found } = await sql<{ user_id: string; email: string | null }>`
      select user_id, email from email_token where ${live}`.execute(unit.tables());
    if (!found[0]) throw spent();
    const { user_id: id, email } = found[0];
    const user = await unit.entities.findOneOrFail(User, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const { rows } = await sql`delete from email_token where ${live} returning hash`.execute(unit.tables());
    if (rows.length === 0) throw spent();
    await this.revoke(unit, user, purpose);
    return { user, email };
  }

  /** Ends what a person was sent. */
  async revoke(unit: UnitOfWork, user: User, purpose: EmailTokenPurpose): Promise<void> {
    await sql`delete from email_token where user_id = ${user.id} and purpose = ${purpose}`.execute(
      unit.tables(),
    );
  }

  /** How many links of a kind a person was sent that are still good. */
  async countLive(unit: UnitOfWork, user: User, purpose: EmailTokenPurpose): Promise<number> {
    const { rows } = await sql`
      select from email_token where user_id = ${user.id} and purpose = ${purpose} and expires_at > now()`.execute(
      unit.tables(),
    );
    return rows.length;
  }

  @Chore('remove_email_tokens', { everyMs: SWEEP_MS })
  async removeExpired(): Promise<void> {
    await sql`delete from email_token where expires_at < now()`.execute(this.database.tables());
  }
}
