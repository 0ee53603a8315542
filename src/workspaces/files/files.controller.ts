import { Readable } from 'node:stream';
import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientGone, RAW_BODY, receiveBody } from '#libs/fastify-hardening/index.js';
import { contentDisposition, preconditionsOf, refuseForm, sendFile } from '#libs/http-files/index.js';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input, InputBesideBody } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import type { ZippedFolder } from '../archives/index.js';
import { FileFindingService } from './file-finding.service.js';
import { FileWritesService } from './file-writes.service.js';
import { DownloadFile, EditFile, FilePath, FindFiles, ListFiles, WriteContent } from './files.dto.js';
import { FilesService } from './files.service.js';

const FILES = '/api/workspaces/:workspaceId/files';

@Controller()
export class FilesController {
  constructor(
    private readonly files: FilesService,
    private readonly writes: FileWritesService,
    private readonly finding: FileFindingService,
  ) {}

  @Serves(FilesService, 'list')
  @Get(FILES)
  list(@Caller() actor: Actor, @Input() input: ListFiles, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.files.list(actor, input, clientGone(reply));
  }

  @Serves(FileFindingService, 'find')
  @Get(`${FILES}/search`)
  find(@Caller() actor: Actor, @Input() input: FindFiles, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.finding.find(actor, input, clientGone(reply));
  }

  @Serves(FileWritesService, 'write')
  @Put(`${FILES}/content`)
  write(@Caller() actor: Actor, @Input() input: WriteContent, @Req() request: FastifyRequest) {
    return this.writes.write(actor, input, preconditionsOf(request.headers));
  }

  @RouteConfig(RAW_BODY)
  @Serves(FileWritesService, 'upload', { takesBytes: true })
  @Put(`${FILES}/upload`)
  upload(@Caller() actor: Actor, @InputBesideBody() input: FilePath, @Req() request: FastifyRequest) {
    refuseForm(request.headers);
    return this.writes.upload(actor, input, receiveBody(request), preconditionsOf(request.headers));
  }

  @Serves(FilesService, 'download', { produces: ['application/octet-stream', 'application/zip'] })
  @Get(`${FILES}/download`)
  async download(
    @Caller() actor: Actor,
    @Input() input: DownloadFile,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const found = await this.files.downloadAny(actor, input);
    if ('zip' in found) return sendFolder(request, reply, found);
    await sendFile(request, reply, found, input.inline ?? false);
  }

  @Serves(FileWritesService, 'edit')
  @Post(`${FILES}/edit`)
  edit(@Caller() actor: Actor, @Input() input: EditFile, @Req() request: FastifyRequest) {
    return this.writes.edit(actor, input, preconditionsOf(request.headers));
  }
}

async function sendFolder(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, zip }: ZippedFolder,
): Promise<void> {
  const bytes = request.method === 'HEAD' ? Readable.from([]) : await zip(clientGone(reply));
  void reply.headers({
    'content-type': 'application/zip',
    'content-disposition': contentDisposition('attachment', `${name}.zip`),
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
  });
  void reply.send(bytes);
}
