import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { type UnitOfWork } from '../../platform/database/index.js';
import { Letter, Mailer, writeLetter } from '../../platform/mail/index.js';
import { type User } from '../accounts/index.js';

/** Where the links in mails lead; served by the auth pages. */
export const RESET_PAGE = '/auth/reset';
export const FORGOT_PAGE = '/auth/forgot';
export const VERIFY_PAGE = '/auth/verify';
export const EMAIL_PAGE = '/auth/email';

/** What is written to people about their account. */
@Injectable()
export class AccountMail {
  constructor(
    private readonly mailer: Mailer,
    private readonly config: Config,
  ) {}

  get isConfigured(): boolean {
    return this.mailer.isConfigured;
  }

  sendReset(unit: UnitOfWork, user: User, token: string): Promise<void> {
    return this.send(unit, user, 'Choose a new password', {
      heading: 'Choose a new password',
      paragraphs: [
        `Someone, hopefully you, asked for a new password for the account ${user.email}.`,
        'The link works once, within an hour. Using it ends all sign-ins of the account.',
      ],
      action: { label: 'Choose a new password', url: this.link(RESET_PAGE, token) },
      footer: 'If it was not you, ignore this mail: nothing changes until the link is used.',
    });
  }

  sendVerification(unit: UnitOfWork, user: User, token: string): Promise<void> {
    return this.send(unit, user, 'Confirm your e-mail address', {
      heading: 'Confirm your e-mail address',
      paragraphs: [`An account was made for ${user.email}. Please confirm that the address is yours.`],
      action: { label: 'Confirm the address', url: this.link(VERIFY_PAGE, token) },
      footer: 'If you made no account, ignore this mail.',
    });
  }

  sendPasswordChanged(unit: UnitOfWork, user: User): Promise<void> {
    return this.send(unit, user, 'Your password was changed', {
      heading: 'Your password was changed',
      paragraphs: [
        `The password of the account ${user.email} was changed just now, and other sign-ins were ended.`,
      ],
      footer:
        'If it was not you, ask for a new password at once, and tell the operator of this installation.',
    });
  }

  /** To the address that an account may move to. */
  sendEmailChange(unit: UnitOfWork, user: User, email: string, token: string): Promise<void> {
    return this.send(unit, { email }, 'Confirm your new e-mail address', {
      heading: 'Confirm your new e-mail address',
      paragraphs: [
        `The account ${user.email} is to have the address ${email} from now on.`,
        'The link works once, within a day.',
      ],
      action: { label: 'Confirm the new address', url: this.link(EMAIL_PAGE, token) },
      footer: 'If it was not you, ignore this mail: nothing changes until the link is used.',
    });
  }

  /** To the address that an account had. */
  sendEmailChanged(unit: UnitOfWork, before: string, after: string): Promise<void> {
    return this.send(unit, { email: before }, 'Your e-mail address was changed', {
      heading: 'Your e-mail address was changed',
      paragraphs: [`The account ${before} has the address ${after} from now on. Sign in with that.`],
      footer: 'If it was not you, tell the operator of this installation at once.',
    });
  }

  private async send(
    unit: UnitOfWork,
    user: Pick<User, 'email'>,
    subject: string,
    letter: Letter,
  ): Promise<void> {
    await this.mailer.send(unit, { to: user.email, subject: `${subject} · Atelier`, ...writeLetter(letter) });
  }

  private link(page: string, token: string): string {
    return `${this.config.baseUrl}${page}?token=${token}`;
  }
}
