import { Controller, Inject, Ip, Post } from '@nestjs/common';
import { Caller, Public } from '../../../platform/access/access.js';
import type { Actor } from '../../../platform/access/actor.js';
import { Input } from '../../../platform/http/input.js';
import { Documents } from '../../../platform/http/serves.js';
import { MailSentView, VerifiedView, VerifyEmail } from '../auth.dto.js';
import { EmailVerificationService } from './email-verification.service.js';

@Controller()
export class EmailController {
  constructor(@Inject(EmailVerificationService) private readonly verification: EmailVerificationService) {}

  @Documents({
    summary: 'Confirm an e-mail address with a link that was sent',
    input: VerifyEmail,
    output: VerifiedView,
    refuses: { 410: 'The link was used, has expired or is unknown', 429: 'Too many tries from this address' },
  })
  @Public()
  @Post('/api/auth/email/verify')
  async verify(@Input() { token }: VerifyEmail, @Ip() address: string): Promise<VerifiedView> {
    await this.verification.verify(token, address);
    return { verified: true };
  }

  @Documents({
    summary: 'Send the link that confirms your e-mail address again',
    input: null,
    output: MailSentView,
    sessionOnly: true,
    refuses: {
      409: 'The address is verified already',
      429: 'Too many mails in this hour',
      503: 'The installation sends no mail',
    },
  })
  @Post('/api/auth/email/verification')
  async sendAgain(@Caller() actor: Actor): Promise<MailSentView> {
    await this.verification.sendAgain(actor);
    return { sent: true };
  }
}
