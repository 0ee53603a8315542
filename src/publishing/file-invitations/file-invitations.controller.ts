import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RAW_BODY, receiveBody } from '#libs/fastify-hardening/index.js';
import { preconditionsOf, refuseForm, sendFile } from '#libs/http-files/index.js';
import { type Actor, Caller, Public } from '../../platform/access/index.js';
import { Input, InputBesideBody } from '../../platform/dto/index.js';
import { Documents, Serves } from '../../platform/openapi/index.js';
import {
  DeclinedFilesView,
  FileInvitationToken,
  InvitedPath,
  RegisteredForFilesView,
  RegisterForFiles,
} from './file-invitations.dto.js';
import { FileInvitationsService } from './file-invitations.service.js';
import { InvitedFilesService } from './invited-files.service.js';

const INVITATIONS = '/api/file-invitations';
const OVER = { 404: 'No such invitation', 409: 'It was accepted already', 410: 'It has expired' };

@Controller()
export class FileInvitationsController {
  constructor(
    private readonly invitations: FileInvitationsService,
    private readonly files: InvitedFilesService,
  ) {}

  @Documents({
    name: 'file_invitation_register',
    summary: 'Make an account for the invited address, which accepts the file invitation by that',
    input: RegisterForFiles,
    output: RegisteredForFilesView,
    refuses: { ...OVER, 403: 'The address has an account to sign in with, or no new accounts are taken' },
  })
  @Public()
  @Post(`${INVITATIONS}/:token/register`)
  register(@Input() input: RegisterForFiles): Promise<RegisteredForFilesView> {
    return this.invitations.register(input);
  }

  @Documents({
    name: 'file_invitation_decline',
    summary: 'Decline a file invitation by its link',
    input: FileInvitationToken,
    output: DeclinedFilesView,
    refuses: OVER,
  })
  @Public()
  @Post(`${INVITATIONS}/:token/decline`)
  decline(@Input() input: FileInvitationToken): Promise<DeclinedFilesView> {
    return this.invitations.decline(input);
  }

  @Serves(InvitedFilesService, 'download', { produces: ['application/octet-stream'] })
  @Get(`${INVITATIONS}/:id/content`)
  async download(
    @Caller() actor: Actor,
    @Input() input: InvitedPath,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await sendFile(request, reply, await this.files.download(actor, input), false);
  }

  @RouteConfig(RAW_BODY)
  @Serves(InvitedFilesService, 'upload', { takesBytes: true })
  @Put(`${INVITATIONS}/:id/content`)
  upload(@Caller() actor: Actor, @InputBesideBody() input: InvitedPath, @Req() request: FastifyRequest) {
    refuseForm(request.headers);
    return this.files.upload(actor, input, receiveBody(request), preconditionsOf(request.headers));
  }
}
