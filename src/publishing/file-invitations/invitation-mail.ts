import { Injectable } from '@nestjs/common';
import { plainName, shortName } from '#libs/plain-text/index.js';
import { MailAllowance } from '../../identity/invitations/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Mailer, writeLetter } from '../../platform/mail/index.js';
import type { InvitedRole } from './file-invitations.dto.js';

@Injectable()
export class InvitationMail {
  constructor(
    private readonly mailer: Mailer,
    private readonly allowance: MailAllowance,
    private readonly config: Config,
  ) {}

  get isConfigured(): boolean {
    return this.mailer.isConfigured;
  }

  /** 429 beyond the allowance. Must precede the transaction that sends. */
  allow(actor: Actor, email: string): Promise<void> {
    return this.allowance.spend(actor, email);
  }

  /** Returns the link. */
  async send(
    unit: UnitOfWork,
    actor: Actor,
    invitation: { path: string; email: string; role: InvitedRole },
    token: string,
  ): Promise<string> {
    const name = shortName(actor.name);
    const link = `${this.config.baseUrl}/file-invitations/${token}`;
    const what = plainName(invitation.path) || 'a workspace';
    const may = invitation.role === 'editor' ? 'read and change it' : 'read it';
    await this.mailer.send(unit, {
      to: invitation.email,
      subject: `${name} shares “${what}” with you`,
      ...writeLetter({
        heading: `${name} shares “${what}” with you`,
        paragraphs: [
          `You may ${may} with the account of this e-mail address.`,
          'The invitation can be accepted within 14 days.',
        ],
        action: { label: 'See the invitation', url: link },
      }),
    });
    return link;
  }
}
