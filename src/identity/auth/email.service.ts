import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { type Actor, hashSecret } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Forbidden, Invalid, NotFound, Unavailable } from '../../platform/errors/index.js';
import { User } from '../accounts/index.js';
import { AccountMail } from './account-mail.js';
import { EmailTokensStore } from './email-tokens.store.js';
import { PasswordsService } from './passwords.service.js';
import { Quotas } from './quotas.js';

const MAX_SENT_PER_HOUR = 5;
/** By all accounts that have or had the address. */
const MAX_RECEIVED_BY_ADDRESS = 10;
const MAX_TRIED_PER_HOUR = 60;

/** Proof that the address of an account is its person's. */
@Injectable()
export class EmailVerificationService {
  constructor(
    private readonly database: Database,
    private readonly tokens: EmailTokensStore,
    private readonly mail: AccountMail,
    private readonly quotas: Quotas,
    private readonly audit: Audit,
  ) {}

  /** Counts one link to an address, where mail can be sent; 429 beyond what it may get. Before the transaction that sends it. */
  async allow(email: string): Promise<void> {
    if (!this.mail.isConfigured) return;
    const to = hashSecret(User.normalizeEmail(email));
    await this.quotas.spendOfAccount('verification-to', to, MAX_RECEIVED_BY_ADDRESS);
  }

  /** Sends the link to a new account, where mail can be sent. */
  async begin(unit: UnitOfWork, user: User): Promise<void> {
    if (!this.mail.isConfigured) return;
    await this.mail.sendVerification(unit, user, await this.tokens.issue(unit, user, 'verify'));
  }

  /** Sends another link to the caller. */
  async sendAgain(actor: Actor): Promise<{ sent: true }> {
    if (!this.mail.isConfigured) throw new Unavailable('This installation sends no mail');
    await this.quotas.spendOfAccount('verification', actor.id, MAX_SENT_PER_HOUR);
    await this.allow(actor.email ?? '');
    return this.database.transaction(async unit => {
      const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
      const user = await unit.entities.findOneOrFail(User, { id: actor.id }, lock);
      if (user.emailVerifiedAt) throw new Conflict('Your e-mail address is verified already');
      await this.begin(unit, user);
      return unit.answers({ sent: true as const });
    });
  }

  /** Uses a link; 410 for one that is not good any more. */
  async verify(token: string, address: string): Promise<void> {
    await this.quotas.spendOfAddress('verify', address, MAX_TRIED_PER_HOUR);
    await this.database.transaction(async unit => {
      const user = await this.tokens.redeem(unit, 'verify', token);
      user.verifyEmail();
      await this.audit.record(unit, null, 'account_verify_email', { type: 'user', id: user.id });
    });
  }
}

/** By all accounts together: the person at the address did not ask for it. */
const MAX_RECEIVED_BY_NEW_ADDRESS = 5;
const wrongPassword = () => new Forbidden('The password is wrong');
const taken = () =>
  new Conflict('This address has an account; sign in with it, or move this account to another');

/**
 * Moving an account to another address. The link goes to the new one, which proves it; that it belongs to another account
 * is shown only to the person who opens the link, so that asking reveals no accounts. Sessions stay.
 */
@Injectable()
export class EmailChangeService {
  constructor(
    private readonly database: Database,
    private readonly passwords: PasswordsService,
    private readonly tokens: EmailTokensStore,
    private readonly mail: AccountMail,
    private readonly quotas: Quotas,
    private readonly audit: Audit,
  ) {}

  /** Sends the link to the new address. */
  async request(
    actor: Actor,
    input: { email: string; password: string },
    address: string,
  ): Promise<{ sent: true }> {
    if (!this.mail.isConfigured)
      throw new Unavailable(
        'This installation sends no mail, so no address can be verified; its operator can change yours with: npm start -- set-email OLD NEW',
      );
    const email = User.normalizeEmail(input.email);
    if (email === actor.email) throw new Invalid('email is the address of your account already');
    await this.quotas.spendOfAccount('email-change', actor.id, MAX_SENT_PER_HOUR);
    const checked = await this.passwords.check(actor.email ?? '', input.password, address);
    if (!checked) throw wrongPassword();
    await this.quotas.spendOfAccount('email-change-to', hashSecret(email), MAX_RECEIVED_BY_NEW_ADDRESS);
    return this.database.transaction(async unit => {
      const user = await this.passwords.findUnchanged(unit, checked, LockMode.PESSIMISTIC_WRITE);
      if (!user) throw wrongPassword();
      await this.tokens.revoke(unit, user, 'email');
      await this.mail.sendEmailChange(unit, user, email, await this.tokens.issue(unit, user, 'email', email));
      return unit.answers({ sent: true as const });
    });
  }

  /** What a link moves, and to which address; 410 for one that is not good any more, without using it. */
  async preview(token: string, address: string): Promise<{ before: string; after: string }> {
    await this.quotas.spendOfAddress('verify', address, MAX_TRIED_PER_HOUR);
    const { account, email } = await this.tokens.require('email', token);
    return { before: account, after: email ?? '' };
  }

  /** Uses a link; 410 for one that is not good any more, 409 where the address belongs to another account by now. */
  async confirm(token: string, address: string): Promise<void> {
    await this.quotas.spendOfAddress('verify', address, MAX_TRIED_PER_HOUR);
    await this.database.transaction(async unit => {
      const { user, email } = await this.tokens.redeemWithAddress(unit, 'email', token);
      if (!email) throw new Invalid('This link names no address; ask for a new one');
      await this.move(unit, user, email, { verified: true });
    });
  }

  /** What the operator of the installation decides: no link, no mail that would have to arrive. */
  async moveByOperator(from: string, to: string): Promise<void> {
    await this.database.transaction(async unit => {
      const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
      const user = await unit.entities.findOne(User, { email: User.normalizeEmail(from) }, lock);
      if (!user) throw new NotFound(`No account has the address ${from}`);
      await this.move(unit, user, User.normalizeEmail(to), { verified: false });
    });
  }

  private async move(
    unit: UnitOfWork,
    user: User,
    email: string,
    { verified }: { verified: boolean },
  ): Promise<void> {
    const before = user.email;
    if (await unit.entities.findOne(User, { email })) throw taken();
    user.moveTo(email, verified);
    // What was sent to the old address must not open the account any more.
    for (const purpose of ['reset', 'verify', 'email'] as const)
      await this.tokens.revoke(unit, user, purpose);
    try {
      await unit.flush();
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException) throw taken();
      throw error;
    }
    if (this.mail.isConfigured) await this.mail.sendEmailChanged(unit, before, email);
    const target = { type: 'user', id: user.id };
    await this.audit.record(unit, null, 'account_change_email', target, { before, after: email });
  }
}
