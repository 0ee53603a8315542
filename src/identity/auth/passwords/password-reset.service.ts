import { Injectable } from '@nestjs/common';
import { Database, newId } from '../../../platform/database/index.js';
import { Unavailable } from '../../../platform/errors/index.js';
import { defineJob, Jobs, OnJob } from '../../../platform/jobs/index.js';
import { User } from '../../accounts/index.js';
import { AccountMail } from '../mail/account-mail.js';
import { EmailTokens } from '../mail/email-tokens.js';
import { Quotas } from '../protection/quotas.js';
import { PasswordsService } from './passwords.service.js';

const MOST_ASKED_PER_HOUR = 30;
const MOST_TRIED_PER_HOUR = 60;
/** More would only fill somebody's mailbox. */
const MOST_LIVE_LINKS = 5;

/**
 * Mail a link to whoever has this address, if anyone. It has the address and not an id, as whether there is an account is
 * only looked up where nobody can measure how long that takes.
 */
const mailPasswordReset = defineJob('mail_password_reset', {
  queue: { name: 'accounts', concurrency: 2 },
  payload: ['email'],
});

/** A new password for who has lost theirs, by a link sent to their address. */
@Injectable()
export class PasswordResetService {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    private readonly tokens: EmailTokens,
    private readonly mail: AccountMail,
    private readonly quotas: Quotas,
    private readonly passwords: PasswordsService,
  ) {}

  /** Does the same for every address, known or not: it makes a job. */
  async request(email: string, address: string): Promise<void> {
    if (!this.mail.isConfigured)
      throw new Unavailable('This installation sends no mail; ask whoever runs it for a new password');
    await this.quotas.spendOfAddress('reset', address, MOST_ASKED_PER_HOUR);
    await this.database.transaction(unit =>
      this.jobs.enqueue(unit, mailPasswordReset, newId(), { email: User.normalizeEmail(email) }),
    );
  }

  /** Running twice sends two links, of which one use ends both. */
  @OnJob(mailPasswordReset)
  async mailLink({ email }: { email: string }): Promise<void> {
    await this.database.transaction(async unit => {
      const user = await unit.entities.findOne(User, { email });
      if (!user || (await this.tokens.countLive(unit, user, 'reset')) >= MOST_LIVE_LINKS) return;
      await this.mail.sendReset(unit, user, this.tokens.issue(unit, user, 'reset'));
    });
  }

  /** Refuses (410) a link that is not good any more, without using it. */
  async require(token: string, address: string): Promise<void> {
    await this.quotas.spendOfAddress('reset-link', address, MOST_TRIED_PER_HOUR);
    await this.tokens.require('reset', token);
  }

  /** Uses a link. */
  async confirm(token: string, password: string, address: string): Promise<void> {
    await this.quotas.spendOfAddress('reset-link', address, MOST_TRIED_PER_HOUR);
    await this.passwords.reset(token, password, address);
  }
}
