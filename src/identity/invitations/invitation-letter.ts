import { Injectable } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { type Actor } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { type UnitOfWork } from '../../platform/database/index.js';
import { Mailer, writeLetter } from '../../platform/mail/index.js';
import { type Invitation } from './invitation.entity.js';
import { MailAllowance } from './mail-allowance.js';

/** The mail that invites a person into an organization. */
@Injectable()
export class InvitationLetter {
  constructor(
    private readonly mailer: Mailer,
    private readonly allowance: MailAllowance,
    private readonly config: Config,
  ) {}

  get isMailed(): boolean {
    return this.mailer.isConfigured;
  }

  /** Refuses (429) one mail too many. Before the transaction that sends it. */
  allow(actor: Actor, email: string): Promise<void> {
    return this.allowance.spend(actor, email);
  }

  /** Answers the link. */
  async send(
    unit: UnitOfWork,
    actor: Actor,
    { email, role }: Invitation,
    { token, ...words }: { token: string; organization: string },
  ): Promise<string> {
    const [name, organization] = [shortName(actor.name), shortName(words.organization)];
    const link = `${this.config.baseUrl}/invitations/${token}`;
    await this.mailer.send(unit, {
      to: email,
      subject: `${name} invites you to ${organization}`,
      ...writeLetter({
        heading: `Join ${organization}`,
        paragraphs: [
          `${name} invites you to work in ${organization} as ${role}.`,
          'The link is good for seven days.',
        ],
        action: { label: 'See the invitation', url: link },
      }),
    });
    return link;
  }
}
