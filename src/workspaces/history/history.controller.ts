import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { contentDisposition, preconditionsOf } from '#libs/http-files/index.js';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { RestoreFile, VersionId } from './history.dto.js';
import { HistoryService } from './history.service.js';

const FILES = '/api/workspaces/:workspaceId/files';

@Controller()
export class HistoryController {
  constructor(private readonly history: HistoryService) {}

  @Serves(HistoryService, 'download', { produces: ['application/octet-stream'] })
  @Get(`${FILES}/history/:version/download`)
  async download(
    @Caller() actor: Actor,
    @Input() input: VersionId,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { path, bytes } = await this.history.download(actor, input);
    void reply
      .headers({
        'content-type': 'application/octet-stream',
        'content-disposition': contentDisposition('attachment', path.slice(path.lastIndexOf('/') + 1)),
        'cache-control': 'private, no-cache',
        'x-content-type-options': 'nosniff',
      })
      .send(bytes);
  }

  @Serves(HistoryService, 'restore')
  @Post(`${FILES}/restore`)
  restore(@Caller() actor: Actor, @Input() input: RestoreFile, @Req() request: FastifyRequest) {
    return this.history.restore(actor, input, preconditionsOf(request.headers));
  }
}
