import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../../platform/access/access.js';
import { problemOf } from '../../../platform/http/problem.js';
import { PASSWORD } from '../../accounts/accounts.dto.js';
import { RESET_PAGE, VERIFY_PAGE } from '../email/account-mail.js';
import { EmailVerificationService } from '../email/email-verification.service.js';
import { PasswordResetService } from '../passwords/password-reset.service.js';
import { readForm } from './form-body.js';
import { AuthPage, sendPage } from './page.js';

/**
 * Where the links in mails lead a person. Opening one changes nothing, as programs that look through mail open them too;
 * only its form does.
 */
@Public()
@ApiExcludeController()
@Controller()
export class AuthPagesController {
  constructor(
    @Inject(PasswordResetService) private readonly resets: PasswordResetService,
    @Inject(EmailVerificationService) private readonly verification: EmailVerificationService,
  ) {}

  @Get(RESET_PAGE)
  async showReset(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const token = tokenOf(request);
    await answer(reply, async () => {
      await this.resets.require(token, request.ip);
      return resetPage(token);
    });
  }

  @Post(RESET_PAGE)
  async reset(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await answer(reply, async () => {
      const { token = '', new_password = '' } = await readForm(request);
      if (new_password.length < PASSWORD.min || new_password.length > PASSWORD.max)
        return {
          ...resetPage(token),
          problem: `The password must have ${PASSWORD.min} to ${PASSWORD.max} characters.`,
        };
      await this.resets.confirm(token, new_password, request.ip);
      return {
        title: 'Your password is changed',
        text: 'All sign-ins were ended. Sign in with the new password.',
      };
    });
  }

  @Get(VERIFY_PAGE)
  async showVerify(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await answer(reply, async () => ({
      title: 'Confirm your e-mail address',
      form: { action: VERIFY_PAGE, token: tokenOf(request), button: 'Confirm the address' },
    }));
  }

  @Post(VERIFY_PAGE)
  async verify(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await answer(reply, async () => {
      const { token = '' } = await readForm(request);
      await this.verification.verify(token, request.ip);
      return { title: 'Your address is confirmed', text: 'Thank you. You can close this page.' };
    });
  }
}

function tokenOf({ query }: FastifyRequest): string {
  const { token } = query as { token?: unknown };
  return typeof token === 'string' ? token : '';
}

function resetPage(token: string): AuthPage {
  const button = 'Change the password';
  return {
    title: 'Choose a new password',
    form: { action: RESET_PAGE, token, button, asksPassword: true },
  };
}

/** A problem is told on a page, too: a person reads it. */
async function answer(reply: FastifyReply, work: () => Promise<AuthPage>): Promise<void> {
  try {
    const page = await work();
    sendPage(reply, page, page.problem ? 422 : 200);
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    sendPage(reply, { title: 'This did not work', problem: problem.detail }, problem.status, problem.headers);
  }
}
