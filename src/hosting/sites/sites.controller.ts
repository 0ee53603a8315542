import { Controller, Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { Streams } from '../../platform/streams/index.js';
import { BuildLogService } from './build-log.service.js';
import { CreateVersion, ReadBuildLog, type VersionView } from './sites.dto.js';
import { VersionsService } from './versions.service.js';

@Controller()
export class SitesController {
  constructor(
    private readonly versions: VersionsService,
    private readonly log: BuildLogService,
  ) {}

  @Serves(VersionsService, 'create', { status: 202 })
  @Post('/api/sites/:id/versions')
  async create(
    @Caller() actor: Actor,
    @Input() input: CreateVersion,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<VersionView> {
    const version = await this.versions.create(actor, input);
    void reply.header('location', `/api/sites/${version.site_id}/versions/${version.id}`);
    return version;
  }

  @Streams(BuildLogService, 'events')
  @Get('/api/sites/:id/versions/:versionId/events')
  events(@Caller() actor: Actor, @Input() input: ReadBuildLog) {
    return this.log.events(actor, input);
  }
}
