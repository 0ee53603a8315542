import { Readable } from 'node:stream';
import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { contentDisposition } from '#libs/http-files/index.js';
import { type Actor, Caller } from '../../../platform/access/index.js';
import { Input } from '../../../platform/dto/index.js';
import { Serves } from '../../../platform/openapi/index.js';
import { ExportsService } from './exports.service.js';
import { ExportForm } from './submissions.dto.js';

@Controller()
export class ExportsController {
  constructor(private readonly exports: ExportsService) {}

  @Serves(ExportsService, 'export', { produces: ['text/csv', 'application/json'] })
  @Get('/api/forms/:id/export')
  async export(
    @Caller() actor: Actor,
    @Input() input: ExportForm,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { name, type, text } = await this.exports.export(actor, input);
    void reply
      .headers({
        'content-type': type,
        'content-disposition': contentDisposition('attachment', name),
        'cache-control': 'private, no-store',
        'x-content-type-options': 'nosniff',
      })
      .send(Readable.from(text));
  }
}
