import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type PageVisit, PageVisits, readFields } from '../../../identity/index.js';
import { Public } from '../../../platform/access/access.js';
import type { Actor } from '../../../platform/access/actor.js';
import { type HtmlPage, htmlDocument, htmlHeaders } from '../../../platform/http/html-page.js';
import { problemOf } from '../../../platform/http/problem.js';
import { decisionPage, endPage, signInPage } from './approval-pages.js';
import { APPROVAL_PAGE } from './approvals.js';
import { Deciding, type Standing } from './deciding.js';

const PAGE = `${APPROVAL_PAGE}/:approvalId`;
const MOST_CHARACTERS = 256;

const SAID: Record<Exclude<Standing, 'open'>, { title: string; text: string; status: number }> = {
  unknown: {
    title: 'There is nothing to decide',
    text: 'This link is not for this account, or what it was about is long over.',
    status: 404,
  },
  expired: {
    title: 'This is no longer open',
    text: 'Nothing was done. If it is still wanted, you are asked again.',
    status: 410,
  },
  allowed: {
    title: 'You allowed it',
    text: 'The program may do it once, now. You can close this page.',
    status: 200,
  },
  denied: {
    title: 'You did not allow it',
    text: 'The program is told so. You can close this page.',
    status: 200,
  },
  used: {
    title: 'It is done',
    text: 'You allowed it, and it was done once. You can close this page.',
    status: 200,
  },
};

interface Front {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly id: string;
  readonly address: string;
  readonly visit: PageVisit;
}

/** Where a person sees what a client wants to do, and allows it or not: forms, no scripts. Opening the page changes nothing. */
@Public()
@ApiExcludeController()
@Controller()
export class ApprovalsController {
  constructor(
    @Inject(PageVisits) private readonly visits: PageVisits,
    @Inject(Deciding) private readonly deciding: Deciding,
  ) {}

  @Get(PAGE)
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const front = await this.front(request, reply);
    const { person } = await this.deciding.personOf(front.visit);
    if (!person) return this.send(front, signInPage(this.formOf(front), ''));
    await this.tell(front, person);
  }

  @Post(`${PAGE}/sign-in`)
  signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.submit(request, reply, async (front, fields) => {
      const email = (fields.get('email') ?? '').slice(0, MOST_CHARACTERS);
      const password = (fields.get('password') ?? '').slice(0, MOST_CHARACTERS + 1);
      try {
        await this.visits.signIn(request, reply, { email, password });
      } catch (error) {
        const problem = problemOf(error);
        if (!problem || problem.status >= 500) throw error;
        const status = problem.status === 401 ? 422 : problem.status;
        this.send(front, signInPage(this.formOf(front), email, `${problem.detail}.`), status);
        return;
      }
      this.goBack(front);
    });
  }

  @Post(`${PAGE}/decide`)
  decide(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.submit(request, reply, async (front, fields) => {
      const { person } = await this.deciding.personOf(front.visit);
      const decision = fields.get('decision');
      if (person && (decision === 'allow' || decision === 'deny'))
        await this.deciding.decide(person, front.id, decision === 'allow' ? 'allowed' : 'denied');
      this.goBack(front);
    });
  }

  @Post(`${PAGE}/sign-out`)
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.submit(request, reply, async front => {
      await this.visits.signOut(front.visit, reply);
      this.goBack(front);
    });
  }

  private async tell(front: Front, person: Actor): Promise<void> {
    const { standing, asked } = await this.deciding.look(person, front.id);
    const email = person.email ?? person.name;
    if (standing === 'open' && asked) return this.send(front, decisionPage(this.formOf(front), asked, email));
    const said = SAID[standing === 'open' ? 'unknown' : standing];
    this.send(front, endPage(this.formOf(front), said, email), said.status);
  }

  /** A form counts only if it comes from the page that this browser was shown. A refusal is told on a page, too. */
  private async submit(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (front: Front, fields: URLSearchParams) => Promise<void>,
  ): Promise<void> {
    const front = await this.front(request, reply);
    try {
      const fields = await readFields(request);
      this.visits.requireOwnForm(request, front.visit, front.address, fields.get('csrf'));
      await work(front, fields);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      const body = `<p role="alert">${problem.detail}. <a href="${front.address}">Start again</a></p>`;
      this.send(front, { title: 'This did not work', body }, problem.status);
    }
  }

  private async front(request: FastifyRequest, reply: FastifyReply): Promise<Front> {
    const { approvalId: id = '' } = request.params as { approvalId?: string };
    const visit = await this.visits.of(request, reply);
    return { request, reply, id, address: `${APPROVAL_PAGE}/${encodeURIComponent(id)}`, visit };
  }

  private formOf({ visit, address }: Front) {
    return { address, csrf: this.visits.csrf(visit, address) };
  }

  private goBack({ reply, address }: Front): void {
    void reply.header('referrer-policy', 'no-referrer').redirect(address, 303);
  }

  private send({ reply }: Front, page: HtmlPage, status = 200): void {
    void reply.status(status).headers(htmlHeaders(page)).send(htmlDocument(page));
  }
}
