import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { InvitationRoutes } from '../../identity/acceptance-pages/index.js';
import { Fronts } from '../../identity/page-sessions/index.js';
import { Public } from '../../platform/access/index.js';
import { InvitationPages } from './invitation-pages.js';
import { InvitedFilesPages } from './invited-files-pages.js';

/** Where the link of a file invitation leads: who shares what, a way in for each who may open it, and then the files. */
@Public()
@ApiExcludeController()
@Controller('file-invitations/:token')
export class FileInvitationPagesController extends InvitationRoutes {
  constructor(
    fronts: Fronts,
    pages: InvitationPages,
    private readonly files: InvitedFilesPages,
  ) {
    super('file-invitations', fronts, pages);
  }

  @Get(['files', 'files/path/*'])
  browse(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.show(request, reply, this.addressOf(token), front => this.files.show(front, token));
  }
}
