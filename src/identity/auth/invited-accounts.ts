import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Forbidden, Invalid } from '../../platform/errors/index.js';
import { hashPassword, PASSWORD, PERSON_NAME, User } from '../accounts/index.js';
import { EmailVerificationService } from './email.service.js';

const HAS_ACCOUNT = 'This address has an account; sign in with it to accept';

/** A person without an account, as they introduce themselves. */
interface Newcomer {
  readonly name: string;
  readonly passwordHash: string;
}

/** Accounts for people who were invited by their address. */
@Injectable()
export class InvitedAccounts {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly verification: EmailVerificationService,
  ) {}

  /** Whether an invitation may make an account: with REGISTRATION=closed none does. */
  private get areTaken(): boolean {
    return this.config.registration !== 'closed';
  }

  /** What becomes of an address that is invited: it signs in, makes an account, or can do neither. */
  async standingOf(email: string): Promise<'exists' | 'can_be_made' | 'none'> {
    if (await this.exists(email)) return 'exists';
    return this.areTaken ? 'can_be_made' : 'none';
  }

  private async exists(email: string): Promise<boolean> {
    return this.database.transaction(async unit => (await unit.entities.count(User, { email })) > 0);
  }

  /** Hashes the password, which takes a while: before the transaction that makes the account. */
  async prepare(
    name: string | undefined,
    password: string | undefined,
    email: string,
  ): Promise<Newcomer | undefined> {
    if (!name || !password || !this.areTaken || (await this.exists(User.normalizeEmail(email))))
      return undefined;
    return { name: name.trim(), passwordHash: await hashPassword(password) };
  }

  /**
   * Makes the account, and asks its person to confirm the address: the inviter has the link of the invitation as well. 403
   * where the address has an account or no more are made, 422 without name or password.
   */
  async make(unit: UnitOfWork, email: string, newcomer: Newcomer | undefined): Promise<User> {
    if (await unit.entities.findOne(User, { email })) throw new Forbidden(HAS_ACCOUNT);
    if (!this.areTaken)
      throw new Forbidden(
        'This installation takes no new accounts; ask its operator to allow them by invitation (REGISTRATION=invite)',
      );
    if (!newcomer)
      throw new Invalid('name and password are needed to make an account; or sign in with the one you have');
    const user = unit.add(new User({ email, ...newcomer, installationOwner: false }));
    try {
      await unit.flush();
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      throw new Conflict(HAS_ACCOUNT);
    }
    await this.verification.begin(unit, user);
    return user;
  }
}

/** What is wrong with a name and a password from a form, in words for its person. */
export function problemOfNewcomer(name: string, password: string): string | undefined {
  if (!PERSON_NAME.pattern.test(name) || name.length > PERSON_NAME.max)
    return `Tell your name, in one line of at most ${PERSON_NAME.max} characters.`;
  if (password.length < PASSWORD.min || password.length > PASSWORD.max)
    return `The password must have ${PASSWORD.min} to ${PASSWORD.max} characters.`;
  return undefined;
}
