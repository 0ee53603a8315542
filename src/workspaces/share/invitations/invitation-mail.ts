import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/actor.js';
import { Config } from '../../../platform/config/config.js';
import type { UnitOfWork } from '../../../platform/database/database.js';
import { writeLetter } from '../../../platform/mail/letter.js';
import { Mailer } from '../../../platform/mail/mailer.js';
import type { FileInvitation } from './file-invitation.entity.js';

/** What somebody who is invited to a file reads. */
@Injectable()
export class InvitationMail {
  constructor(
    @Inject(Mailer) private readonly mailer: Mailer,
    @Inject(Config) private readonly config: Config,
  ) {}

  get isConfigured(): boolean {
    return this.mailer.isConfigured;
  }

  /** Answers the link. */
  async send(unit: UnitOfWork, { name }: Actor, invitation: FileInvitation, token: string): Promise<string> {
    const link = `${this.config.baseUrl}/file-invitations/${token}`;
    const what = invitation.path.split('/').at(-1) || 'a workspace';
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
