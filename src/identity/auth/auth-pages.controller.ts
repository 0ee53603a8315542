import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isMailAddress } from '#libs/fields/index.js';
import { escapeHtml } from '#libs/html/index.js';
import { Public } from '../../platform/access/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { newPasswordField, problemHtml, readForm, sendPage } from '../../platform/pages/index.js';
import { PASSWORD } from '../accounts/index.js';
import { EMAIL_PAGE, FORGOT_PAGE, RESET_PAGE, VERIFY_PAGE } from './account-mail.js';
import { EmailChangeService, EmailVerificationService } from './email.service.js';
import { PasswordResetService } from './passwords.service.js';

/** A page of one heading, some text and at most one form. */
interface AuthPage {
  readonly title: string;
  readonly text?: string;
  /** What went wrong with the form that was sent. */
  readonly problem?: string;
  readonly form?: {
    readonly action: string;
    readonly token?: string;
    readonly button: string;
    readonly asks?: 'email' | 'new_password';
  };
}

function sendAuthPage(
  reply: FastifyReply,
  page: AuthPage,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): FastifyReply {
  return sendPage(reply, { title: page.title, body: bodyOf(page) }, status, headers);
}

function bodyOf({ text, problem, form }: AuthPage): string {
  return `${problemHtml(problem)}
${text ? `<p>${escapeHtml(text)}</p>` : ''}
${form ? renderForm(form) : ''}`;
}

function renderForm({ action, token = '', button, asks }: NonNullable<AuthPage['form']>): string {
  return `<form method="post" action="${action}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${asks ? FIELDS[asks] : ''}
<button type="submit">${escapeHtml(button)}</button>
</form>`;
}

const FIELDS = {
  email: `<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required autofocus>`,
  new_password: newPasswordField('new_password', 'New password'),
};

/**
 * Where the links in mails lead a person. Opening one changes nothing, as programs that look through mail open them too;
 * only its form does.
 */
@Public()
@ApiExcludeController()
@Controller()
export class AuthPagesController {
  constructor(
    private readonly resets: PasswordResetService,
    private readonly changes: EmailChangeService,
    private readonly verification: EmailVerificationService,
  ) {}

  @Get(FORGOT_PAGE)
  async showForgot(@Res() reply: FastifyReply): Promise<void> {
    await answer(reply, async () => FORGOT);
  }

  @Post(FORGOT_PAGE)
  async forgot(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await answer(reply, async () => {
      const { email = '' } = await readForm(request);
      if (!isMailAddress(email)) return { ...FORGOT, problem: 'That is no e-mail address.' };
      await this.resets.request(email, request.ip);
      return {
        title: 'Look into your mail',
        text: 'If the address has an account, a link for a new password is on its way. It works for an hour.',
      };
    });
  }

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

  @Get(EMAIL_PAGE)
  async showEmailChange(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const token = tokenOf(request);
    await answer(reply, async () => {
      const { before, after } = await this.changes.preview(token, request.ip);
      return {
        title: 'Confirm your new e-mail address',
        text: `The account ${before} is to have the address ${after} from now on. Confirm it only if that account is yours: whoever knows its password signs in with your address then.`,
        form: { action: EMAIL_PAGE, token, button: 'Confirm the new address' },
      };
    });
  }

  @Post(EMAIL_PAGE)
  async changeEmail(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await answer(reply, async () => {
      const { token = '' } = await readForm(request);
      await this.changes.confirm(token, request.ip);
      return {
        title: 'Your address is changed',
        text: 'Sign in with the new one from now on. Where you are signed in, you stay signed in.',
      };
    });
  }
}

const FORGOT: AuthPage = {
  title: 'Get a new password',
  text: 'A link is sent to the address of your account.',
  form: { action: FORGOT_PAGE, button: 'Send the link', asks: 'email' },
};

function tokenOf({ query }: FastifyRequest): string {
  const { token } = query as { token?: unknown };
  return typeof token === 'string' ? token : '';
}

function resetPage(token: string): AuthPage {
  const button = 'Change the password';
  return {
    title: 'Choose a new password',
    form: { action: RESET_PAGE, token, button, asks: 'new_password' },
  };
}

/** Problems are shown as a page, too: a person reads them. */
async function answer(reply: FastifyReply, work: () => Promise<AuthPage>): Promise<void> {
  try {
    const page = await work();
    sendAuthPage(reply, page, page.problem ? 422 : 200);
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    sendAuthPage(
      reply,
      { title: 'This did not work', problem: problem.detail },
      problem.status,
      problem.headers,
    );
  }
}
