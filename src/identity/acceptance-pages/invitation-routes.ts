import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HtmlPage } from '../../platform/pages/index.js';
import type { Front, Fronts } from '../page-sessions/index.js';
import type { Tried } from './offer-page.js';

/** What there is to see and do at the link of one kind of invitation. */
export interface PagesOfInvitation {
  show(front: Front, token: string): Promise<void>;
  pageOf(front: Front, token: string, tried?: Tried): Promise<HtmlPage>;
  accept(front: Front, token: string, fields: URLSearchParams): Promise<void>;
  decline(front: Front, token: string): Promise<void>;
}

/**
 * The routes below the link of an invitation, for a controller at `<kind>/:token`. Forms, no scripts; opening the page
 * changes nothing, as programs that look through mail open it too.
 */
export abstract class InvitationRoutes {
  protected constructor(
    private readonly kind: 'invitations' | 'file-invitations',
    protected readonly fronts: Fronts,
    private readonly pages: PagesOfInvitation,
  ) {}

  @Get()
  show(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.show(request, reply, this.addressOf(token), front => this.pages.show(front, token));
  }

  @Post('accept')
  accept(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.submit(request, reply, this.addressOf(token), (front, fields) =>
      this.pages.accept(front, token, fields),
    );
  }

  @Post('decline')
  decline(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.submit(request, reply, this.addressOf(token), front =>
      this.pages.decline(front, token),
    );
  }

  @Post('sign-in')
  signIn(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.submit(request, reply, this.addressOf(token), (front, fields) =>
      this.fronts.signIn(front, fields, (email, problem) =>
        this.pages.pageOf(front, token, { email, problem }),
      ),
    );
  }

  @Post('sign-out')
  signOut(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.submit(request, reply, this.addressOf(token), front => this.fronts.signOut(front));
  }

  protected addressOf(token: string): string {
    return `/${this.kind}/${encodeURIComponent(token)}`;
  }
}
