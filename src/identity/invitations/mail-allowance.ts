import { Injectable } from '@nestjs/common';
import { type Actor, hashSecret } from '../../platform/access/index.js';
import { Mailer } from '../../platform/mail/index.js';
import { Quotas } from '../auth/index.js';

const MAX_RECEIVED_PER_HOUR = 10;
const MAX_SENT_PER_HOUR = 100;

/** How many invitations leave by mail: they go to people who did not ask for them, with words that others chose. */
@Injectable()
export class MailAllowance {
  constructor(
    private readonly mailer: Mailer,
    private readonly quotas: Quotas,
  ) {}

  /** Counts one mail of the caller's to an address; 429 where that is more than either may have in an hour. */
  async spend(actor: Actor, email: string): Promise<void> {
    if (!this.mailer.isConfigured) return;
    await this.quotas.spendOfAccount('invitations-by', actor.id, MAX_SENT_PER_HOUR);
    await this.quotas.spendOfAccount('invitations-to', hashSecret(email), MAX_RECEIVED_PER_HOUR);
  }
}
