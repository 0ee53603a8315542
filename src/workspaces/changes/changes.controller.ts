import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { EventStreams, resumeAfter } from '../../platform/streams/index.js';
import { WatchChanges } from './changes.dto.js';
import { ChangesService } from './changes.service.js';

@Controller()
export class ChangesController {
  constructor(
    private readonly changes: ChangesService,
    private readonly streams: EventStreams,
  ) {}

  @Serves(ChangesService, 'events', { produces: ['text/event-stream'] })
  @Get('/api/workspaces/:workspaceId/events')
  async events(
    @Caller() actor: Actor,
    @Input() input: WatchChanges,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const events = await this.changes.events(actor, input);
    const after = resumeAfter(request, input.after);
    await this.streams.carry({ request, reply }, signal => events(after, signal));
  }
}
