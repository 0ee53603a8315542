import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type OpenPage, PageSessions } from '../../identity/page-sessions/index.js';
import { type Actor, Public } from '../../platform/access/index.js';
import { sendOn, sendPage } from '../../platform/pages/index.js';
import { decisionPage, endPage, signInPage, statusOf, wordsOn } from './approval-page.js';
import { ApprovalPageService } from './approval-page.service.js';
import { APPROVAL_PAGE } from './approval-wording.js';

const PAGE = `${APPROVAL_PAGE}/:approvalId`;

/**
 * Where a person sees what an agent or a client wants to do, and allows it or not: forms, no scripts. Opening the page
 * changes nothing.
 */
@Public()
@ApiExcludeController()
@Controller()
export class ApprovalPageController {
  constructor(
    private readonly sessions: PageSessions,
    private readonly approvals: ApprovalPageService,
  ) {}

  @Get(PAGE)
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.show(request, reply, addressOf(request), async opened => {
      if (!opened.person) sendPage(reply, signInPage(opened, ''));
      else await this.tell(opened, opened.person, idOf(request));
    });
  }

  @Post(`${PAGE}/sign-in`)
  signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, addressOf(request), (opened, fields) =>
      this.sessions.signIn(opened, fields, (email, problem) => signInPage(opened, email, problem)),
    );
  }

  @Post(`${PAGE}/decide`)
  decide(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, addressOf(request), async ({ person, address }, fields) => {
      const decision = fields.get('decision');
      if (person && (decision === 'allow' || decision === 'deny'))
        await this.approvals.decide(person, idOf(request), decision);
      sendOn(reply, address);
    });
  }

  @Post(`${PAGE}/sign-out`)
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, addressOf(request), opened => this.sessions.signOut(opened));
  }

  private async tell(opened: OpenPage, person: Actor, id: string): Promise<void> {
    const looked = await this.approvals.look(person, id);
    const email = person.email ?? person.name;
    if (looked.standing === 'open') {
      sendPage(opened.reply, decisionPage(opened, looked.asked, email));
      return;
    }
    sendPage(opened.reply, endPage(opened, wordsOn(looked), email), statusOf(looked.standing));
  }
}

const idOf = ({ params }: FastifyRequest): string => (params as { approvalId?: string }).approvalId ?? '';
const addressOf = (request: FastifyRequest): string =>
  `${APPROVAL_PAGE}/${encodeURIComponent(idOf(request))}`;
