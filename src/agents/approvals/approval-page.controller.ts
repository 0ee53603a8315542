import { Controller, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PageSessions, type PersonAtPage, PersonPages } from '../../identity/page-sessions/index.js';
import { Public } from '../../platform/access/index.js';
import { sendOn, sendPage } from '../../platform/pages/index.js';
import { decisionPage, endPage, statusOf, wordsOn } from './approval-page.js';
import { ApprovalPageService } from './approval-page.service.js';
import { APPROVAL_PAGE } from './approval-wording.js';

/** Where a person sees what an agent or a client wants to do, and allows it or not. */
@Public()
@ApiExcludeController()
@Controller(APPROVAL_PAGE)
export class ApprovalPageController extends PersonPages {
  constructor(
    sessions: PageSessions,
    private readonly approvals: ApprovalPageService,
  ) {
    super(APPROVAL_PAGE, 'to see what a program asks you to allow', sessions);
  }

  @Post(':id/decide')
  decide(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.take(request, reply, async ({ opened: { address }, person, id }, fields) => {
      const decision = fields.get('decision');
      if (decision === 'allow' || decision === 'deny') await this.approvals.decide(person, id, decision);
      sendOn(reply, address);
    });
  }

  protected async tell({ opened, person, id }: PersonAtPage): Promise<void> {
    const looked = await this.approvals.look(person, id);
    const email = person.email ?? person.name;
    if (looked.standing === 'open') {
      sendPage(opened.reply, decisionPage(opened, looked.asked, email));
      return;
    }
    sendPage(opened.reply, endPage(opened, wordsOn(looked), email), statusOf(looked.standing));
  }
}
