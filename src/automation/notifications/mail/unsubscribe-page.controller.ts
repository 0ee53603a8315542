import { Controller, Get, Param, Post, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { html } from '#libs/html/index.js';
import { Public } from '../../../platform/access/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { sendPage } from '../../../platform/pages/index.js';
import { typeOf } from '../types/types.js';
import { UNSUBSCRIBE_PAGE, Unsubscribing } from './unsubscribing.service.js';

/**
 * Where the unsubscribe link of a mail leads. Opening it changes nothing, as programs that look through mail open links,
 * too. POST does, by the button of the page or by a mail program (RFC 8058), whatever its body says.
 */
@Public()
@ApiExcludeController()
@Controller()
export class UnsubscribePageController {
  constructor(private readonly unsubscribing: Unsubscribing) {}

  @Get(`${UNSUBSCRIBE_PAGE}/:token`)
  async show(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    await answer(reply, 'Get no more of these mails?', async () => {
      const { types } = this.unsubscribing.read(token);
      const what = types.map(type => html`<li>${typeOf(type)?.summary ?? type}</li>`);
      return html`<p>You get a mail each time when this happens:</p>
<ul>${what}</ul>
<form method="post"><button type="submit">Turn these mails off</button></form>`.text;
    });
  }

  @Post(`${UNSUBSCRIBE_PAGE}/:token`)
  async unsubscribe(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    await answer(reply, 'These mails are off', async () => {
      await this.unsubscribing.unsubscribe(token);
      return '<p>You get no more of them. Your preferences say so from now on, and can be changed there.</p>';
    });
  }
}

/** Problems are shown as a page, too: a person reads them. */
async function answer(reply: FastifyReply, title: string, work: () => Promise<string>): Promise<void> {
  try {
    sendPage(reply, { title, body: await work() });
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    sendPage(
      reply,
      { title: 'This did not work', body: html`<p>${problem.detail}</p>`.text },
      problem.status,
    );
  }
}
