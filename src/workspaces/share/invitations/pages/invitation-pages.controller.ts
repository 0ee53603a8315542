import { Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fronts } from '../../../../identity/index.js';
import { Public } from '../../../../platform/access/access.js';
import { InvitationPages } from './invitation-pages.js';
import { InvitedFilesPages } from './invited-files-pages.js';

const PAGE = '/file-invitations/:token';
const addressOf = (token: string): string => `/file-invitations/${encodeURIComponent(token)}`;

/**
 * Where the link of a file invitation leads: who shares what, a way in for each who may open it, and then the files. Forms,
 * no scripts; opening the page changes nothing, as programs that look through mail open it too.
 */
@Public()
@ApiExcludeController()
@Controller()
export class FileInvitationPagesController {
  constructor(
    @Inject(Fronts) private readonly fronts: Fronts,
    @Inject(InvitationPages) private readonly pages: InvitationPages,
    @Inject(InvitedFilesPages) private readonly files: InvitedFilesPages,
  ) {}

  @Get(PAGE)
  show(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.show(request, reply, addressOf(token), front => this.pages.show(front, token));
  }

  @Get([`${PAGE}/files`, `${PAGE}/files/path/*`])
  browse(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.show(request, reply, addressOf(token), front => this.files.show(front, token));
  }

  @Post(`${PAGE}/accept`)
  accept(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.submit(request, reply, addressOf(token), (front, fields) =>
      this.pages.accept(front, token, fields),
    );
  }

  @Post(`${PAGE}/decline`)
  decline(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.submit(request, reply, addressOf(token), front => this.pages.decline(front, token));
  }

  @Post(`${PAGE}/sign-in`)
  signIn(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.submit(request, reply, addressOf(token), (front, fields) =>
      this.fronts.signIn(front, fields, (email, problem) =>
        this.pages.pageOf(front, token, { email, problem }),
      ),
    );
  }

  @Post(`${PAGE}/sign-out`)
  signOut(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.fronts.submit(request, reply, addressOf(token), front => this.fronts.signOut(front));
  }
}
