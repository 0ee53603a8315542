import { Controller, Ip, Post } from '@nestjs/common';
import { type Actor, Caller, Public } from '../../../platform/access/index.js';
import { Input } from '../../../platform/dto/index.js';
import { Documents } from '../../../platform/openapi/index.js';
import { ChangedView } from '../mail/mailed-link.dto.js';
import { ChangeEmail, ConfirmEmailChange, MailSentView, VerifiedView, VerifyEmail } from './email.dto.js';
import { EmailChangeService } from './email-change.service.js';
import { EmailVerificationService } from './email-verification.service.js';

@Controller()
export class EmailController {
  constructor(
    private readonly verification: EmailVerificationService,
    private readonly changes: EmailChangeService,
  ) {}

  @Documents({
    name: 'email_verify',
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
    name: 'email_change',
    summary: 'Move your account to another e-mail address: sends a link there, by which it changes',
    input: ChangeEmail,
    output: MailSentView,
    commitsAnswer: true,
    sessionOnly: true,
    refuses: {
      403: 'The password is wrong',
      429: 'Too many mails in this hour, or too many wrong passwords from this address',
      503: 'The installation sends no mail',
    },
  })
  @Post('/api/auth/email')
  change(@Caller() actor: Actor, @Input() input: ChangeEmail, @Ip() address: string): Promise<MailSentView> {
    return this.changes.request(actor, input, address);
  }

  @Documents({
    name: 'email_change_confirm',
    summary: 'Confirm your new e-mail address with a link that was sent; sessions stay',
    input: ConfirmEmailChange,
    output: ChangedView,
    refuses: {
      409: 'The address has another account',
      410: 'The link was used, has expired or is unknown',
      429: 'Too many tries from this address',
    },
  })
  @Public()
  @Post('/api/auth/email/confirm')
  async confirmChange(@Input() { token }: ConfirmEmailChange, @Ip() address: string): Promise<ChangedView> {
    await this.changes.confirm(token, address);
    return { changed: true };
  }

  @Documents({
    name: 'email_verification_send',
    summary: 'Send the link that confirms your e-mail address again',
    input: null,
    output: MailSentView,
    commitsAnswer: true,
    sessionOnly: true,
    refuses: {
      409: 'The address is verified already',
      429: 'Too many mails in this hour',
      503: 'The installation sends no mail',
    },
  })
  @Post('/api/auth/email/verification')
  async sendAgain(@Caller() actor: Actor): Promise<MailSentView> {
    return this.verification.sendAgain(actor);
  }
}
