import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../../platform/access/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { LinkPages, pathOf, tokenOf } from '../../exposure/index.js';
import { SHARE_LINK } from '../links/share-links.store.js';
import { Browsing } from './browsing.js';
import { Dropping } from './dropping.js';
import { VisitsService } from './visits.service.js';

/** What people see who follow a share link. Served on the share origin alone. */
@Public()
@ApiExcludeController()
@Controller()
export class VisitorsController {
  constructor(
    private readonly pages: LinkPages,
    private readonly visits: VisitsService,
    private readonly browsing: Browsing,
    private readonly dropping: Dropping,
  ) {}

  @Get(['/s/:token', '/s/:token/path/*'])
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pages.answer(SHARE_LINK, request, reply, async () => {
      const visit = await this.visits.open(tokenOf(request), request);
      if (visit.allow === 'upload') await this.dropping.show(visit, request, reply);
      else await this.browsing.show(visit, readWithin(request), request, reply);
    });
  }

  @Post('/s/:token/unlock')
  unlock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pages.unlock(SHARE_LINK, request, reply, token => this.visits.find(token));
  }

  @Post('/s/:token/upload')
  upload(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pages.answer(SHARE_LINK, request, reply, async () => {
      const visit = await this.visits.open(tokenOf(request), request);
      if (visit.allow !== 'upload') throw new NotFound('This link takes no files');
      await this.dropping.receive(visit, request, reply);
    });
  }
}

/** From the address as it was sent, which may be absolute: routers differ in what they make of escapes. */
function readWithin(request: FastifyRequest): string {
  const [, within = ''] = /^(?:[a-z]+:\/\/[^/]*)?\/[^/]+\/[^/]+\/path\/(.*)$/i.exec(pathOf(request)) ?? [];
  return decodeURIComponent(within);
}
