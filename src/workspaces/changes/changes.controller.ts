import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Caller } from '../../platform/access/access.js';
import type { Actor } from '../../platform/access/actor.js';
import { Input } from '../../platform/http/input.js';
import { Serves } from '../../platform/http/serves.js';
import { EventStream, resumeAfter } from '../../platform/http/sse.js';
import { WatchChanges } from './changes.dto.js';
import { ChangesService } from './changes.service.js';

@Controller()
export class ChangesController {
  constructor(@Inject(ChangesService) private readonly changes: ChangesService) {}

  @Serves(ChangesService, 'events', { produces: ['text/event-stream'] })
  @Get('/api/workspaces/:workspaceId/events')
  async events(
    @Caller() actor: Actor,
    @Input() input: WatchChanges,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const events = await this.changes.events(actor, input);
    await EventStream.carry(reply, signal => events.follow(resumeAfter(request, input.after), signal));
  }
}
