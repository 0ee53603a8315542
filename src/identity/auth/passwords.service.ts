import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { type Actor } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, newId, UnitOfWork } from '../../platform/database/index.js';
import { Forbidden, NotFound, Unavailable } from '../../platform/errors/index.js';
import { defineJob, Jobs } from '../../platform/jobs/index.js';
import { hashPassword, passwordMatches, User } from '../accounts/index.js';
import { SessionsService } from '../sessions/index.js';
import { AccountMail } from './account-mail.js';
import { EmailTokensStore } from './email-tokens.store.js';
import { IssuedCredentialsStore } from './issued-credentials.store.js';
import { LoginProtection } from './login-protection.js';
import { Quotas } from './quotas.js';

const wrongPassword = () => new Forbidden('The current password is wrong');

/** Looking passwords up and changing them. */
@Injectable()
export class PasswordsService {
  constructor(
    private readonly database: Database,
    private readonly protection: LoginProtection,
    private readonly sessions: SessionsService,
    private readonly credentials: IssuedCredentialsStore,
    private readonly tokens: EmailTokensStore,
    private readonly mail: AccountMail,
    private readonly audit: Audit,
  ) {}

  /** The account whose password this is, tried from `address`; undefined for none. 429 after too many failures. */
  check(email: string, password: string, address: string): Promise<User | undefined> {
    const normalized = User.normalizeEmail(email);
    return this.protection.attempt(normalized, address, async () => {
      const user = await this.database.transaction(unit =>
        unit.entities.findOne(User, { email: normalized }),
      );
      const matches = await passwordMatches(user?.passwordHash, password);
      return matches && user ? user : undefined;
    });
  }

  /** Locks the account and returns it, if its password is still the one that was checked. */
  async findUnchanged(
    unit: UnitOfWork,
    { id, passwordHash }: User,
    lockMode: LockMode,
  ): Promise<User | undefined> {
    return (await unit.entities.findOne(User, { id, passwordHash }, { lockMode })) ?? undefined;
  }

  /** Changes the caller's own password, and ends all of their sessions but this one. */
  async change(actor: Actor, current: string, next: string, address: string): Promise<{ changed: true }> {
    const checked = await this.check(actor.email ?? '', current, address);
    if (!checked) throw wrongPassword();
    const passwordHash = await hashPassword(next);
    return this.database.transaction(async unit => {
      const user = await this.findUnchanged(unit, checked, LockMode.PESSIMISTIC_WRITE);
      if (!user) throw wrongPassword();
      const ended_sessions = await this.replace(unit, user, passwordHash, actor.credential.id);
      await this.audit.record(unit, actor, 'account_change_password', targetOf(user), { ended_sessions });
      return unit.answers({ changed: true as const });
    });
  }

  /**
   * Sets the password of the person who was sent the link, and ends all of their sessions. Until then anybody could have made an
   * account for an address that was never verified, so its keys and applications end as well.
   */
  async reset(token: string, password: string, address: string): Promise<void> {
    await this.tokens.require('reset', token);
    const passwordHash = await hashPassword(password);
    const email = await this.database.transaction(async unit => {
      const user = await this.tokens.redeem(unit, 'reset', token);
      const given = user.emailVerifiedAt ? undefined : await this.credentials.endAll(unit, user.id);
      user.verifyEmail();
      const ended_sessions = await this.replace(unit, user, passwordHash);
      const details = { ended_sessions, ...given };
      await this.audit.record(unit, null, 'account_reset_password', targetOf(user), details);
      return user.email;
    });
    await this.protection.forgive(email, address);
  }

  /** Sets the password of an account for the operator of the installation, and ends all of its sessions. */
  async setByOperator(email: string, password: string): Promise<number> {
    const passwordHash = await hashPassword(password);
    return this.database.transaction(async unit => {
      const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
      const user = await unit.entities.findOne(User, { email: User.normalizeEmail(email) }, lock);
      if (!user) throw new NotFound(`No account has the address ${email}`);
      const ended_sessions = await this.replace(unit, user, passwordHash);
      await this.audit.record(unit, null, 'account_set_password', targetOf(user), { ended_sessions });
      return ended_sessions;
    });
  }

  private async replace(unit: UnitOfWork, user: User, hash: string, keptSession?: string): Promise<number> {
    user.passwordHash = hash;
    // Someone who knew the old password may have asked to move the account to another address.
    for (const purpose of ['reset', 'email'] as const) await this.tokens.revoke(unit, user, purpose);
    if (this.mail.isConfigured) await this.mail.sendPasswordChanged(unit, user);
    return this.sessions.endAll(unit, user.id, keptSession);
  }
}

const targetOf = ({ id }: User) => ({ type: 'user', id });

const MAX_ASKED_PER_HOUR = 30;
const MAX_TRIED_PER_HOUR = 60;
/** More would only fill a mailbox. */
const MAX_LIVE_LINKS = 5;

/** The queue of jobs about accounts. */
export const ACCOUNTS = 'accounts';

/**
 * Mails a link to the account with this address, if there is one. The payload has the address and not an id: the lookup
 * happens in the job, so that response times do not tell whether there is an account.
 */
export const mailPasswordReset = defineJob('mail_password_reset', {
  queue: ACCOUNTS,
  payload: ['email'],
});

/** A new password for who has lost theirs, by a link sent to their address. */
@Injectable()
export class PasswordResetService {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    private readonly tokens: EmailTokensStore,
    private readonly mail: AccountMail,
    private readonly quotas: Quotas,
    private readonly passwords: PasswordsService,
  ) {}

  /** Does the same for every address, known or not: it makes a job. */
  async request(email: string, address: string): Promise<void> {
    if (!this.mail.isConfigured)
      throw new Unavailable('This installation sends no mail; ask its operator for a new password');
    await this.quotas.spendOfAddress('reset', address, MAX_ASKED_PER_HOUR);
    await this.database.transaction(unit =>
      this.jobs.enqueue(unit, mailPasswordReset, newId(), { email: User.normalizeEmail(email) }),
    );
  }

  /** Running twice sends two links, of which one use ends both. */
  async mailLink({ email }: { email: string }): Promise<void> {
    await this.database.transaction(async unit => {
      const user = await unit.entities.findOne(User, { email });
      if (!user || (await this.tokens.countLive(unit, user, 'reset')) >= MAX_LIVE_LINKS) return;
      await this.mail.sendReset(unit, user, await this.tokens.issue(unit, user, 'reset'));
    });
  }

  /** Refuses (410) a link that is not good any more, without using it. */
  async require(token: string, address: string): Promise<void> {
    await this.quotas.spendOfAddress('reset-link', address, MAX_TRIED_PER_HOUR);
    await this.tokens.require('reset', token);
  }

  /** Uses a link. */
  async confirm(token: string, password: string, address: string): Promise<void> {
    await this.quotas.spendOfAddress('reset-link', address, MAX_TRIED_PER_HOUR);
    await this.passwords.reset(token, password, address);
  }
}
