import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { type Actor, hashSecret } from '../../../platform/access/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, UnitOfWork } from '../../../platform/database/index.js';
import { Conflict, Unavailable } from '../../../platform/errors/index.js';
import { User } from '../../accounts/index.js';
import { AccountMail } from '../mail/account-mail.js';
import { EmailTokens } from '../mail/email-tokens.js';
import { Quotas } from '../protection/quotas.js';

const MOST_SENT_PER_HOUR = 5;
/** By all accounts that have or had the address. */
const MAX_RECEIVED_PER_HOUR = 10;
const MOST_TRIED_PER_HOUR = 60;

/** Proof that the address of an account is its person's. */
@Injectable()
export class EmailVerificationService {
  constructor(
    private readonly database: Database,
    private readonly tokens: EmailTokens,
    private readonly mail: AccountMail,
    private readonly quotas: Quotas,
    private readonly audit: Audit,
  ) {}

  /** Counts one link to an address, where mail can be sent; 429 beyond what it may get. Before the transaction that sends it. */
  async allow(email: string): Promise<void> {
    if (!this.mail.isConfigured) return;
    const to = hashSecret(User.normalizeEmail(email));
    await this.quotas.spendOfAccount('verification-to', to, MAX_RECEIVED_PER_HOUR);
  }

  /** Sends the link to a new account, where mail can be sent. */
  async begin(unit: UnitOfWork, user: User): Promise<void> {
    if (!this.mail.isConfigured) return;
    await this.mail.sendVerification(unit, user, this.tokens.issue(unit, user, 'verify'));
  }

  /** Sends another link to the caller. */
  async sendAgain(actor: Actor): Promise<{ sent: true }> {
    if (!this.mail.isConfigured) throw new Unavailable('This installation sends no mail');
    await this.quotas.spendOfAccount('verification', actor.id, MOST_SENT_PER_HOUR);
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
    await this.quotas.spendOfAddress('verify', address, MOST_TRIED_PER_HOUR);
    await this.database.transaction(async unit => {
      const user = await this.tokens.redeem(unit, 'verify', token);
      user.verifyEmail();
      await this.audit.record(unit, null, {
        action: 'account_verify_email',
        target_type: 'user',
        target_id: user.id,
        organization_id: null,
      });
    });
  }
}
