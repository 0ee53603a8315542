import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Front, Fronts } from '../../../identity/index.js';
import { Public } from '../../../platform/access/access.js';
import type { Actor } from '../../../platform/access/actor.js';
import { sendOn, sendPage } from '../../../platform/pages/page.js';
import { decisionPage, endPage, signInPage } from './approval-pages.js';
import { APPROVAL_PAGE } from './approvals.js';
import { Deciding, type Standing } from './deciding.js';

const PAGE = `${APPROVAL_PAGE}/:approvalId`;

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

/** Where a person sees what a client wants to do, and allows it or not: forms, no scripts. Opening the page changes nothing. */
@Public()
@ApiExcludeController()
@Controller()
export class ApprovalsController {
  constructor(
    @Inject(Fronts) private readonly fronts: Fronts,
    @Inject(Deciding) private readonly deciding: Deciding,
  ) {}

  @Get(PAGE)
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.fronts.show(request, reply, addressOf(request), async front => {
      if (!front.person) sendPage(reply, signInPage(front, ''));
      else await this.tell(front, front.person, idOf(request));
    });
  }

  @Post(`${PAGE}/sign-in`)
  signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.fronts.submit(request, reply, addressOf(request), (front, fields) =>
      this.fronts.signIn(front, fields, (email, problem) => signInPage(front, email, problem)),
    );
  }

  @Post(`${PAGE}/decide`)
  decide(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.fronts.submit(request, reply, addressOf(request), async ({ person, address }, fields) => {
      const decision = fields.get('decision');
      if (person && (decision === 'allow' || decision === 'deny'))
        await this.deciding.decide(person, idOf(request), decision === 'allow' ? 'allowed' : 'denied');
      sendOn(reply, address);
    });
  }

  @Post(`${PAGE}/sign-out`)
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.fronts.submit(request, reply, addressOf(request), front => this.fronts.signOut(front));
  }

  private async tell(front: Front, person: Actor, id: string): Promise<void> {
    const { standing, asked } = await this.deciding.look(person, id);
    const email = person.email ?? person.name;
    if (standing === 'open' && asked) {
      sendPage(front.reply, decisionPage(front, asked, email));
      return;
    }
    const said = SAID[standing === 'open' ? 'unknown' : standing];
    sendPage(front.reply, endPage(front, said, email), said.status);
  }
}

const idOf = ({ params }: FastifyRequest): string => (params as { approvalId?: string }).approvalId ?? '';
const addressOf = (request: FastifyRequest): string =>
  `${APPROVAL_PAGE}/${encodeURIComponent(idOf(request))}`;
