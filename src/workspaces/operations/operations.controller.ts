import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { EventStreams, resumeAfter } from '../../platform/streams/index.js';
import { OperationId, WatchOperation } from './operations.dto.js';
import { OperationsService } from './operations.service.js';

@Controller()
export class OperationsController {
  constructor(
    private readonly operations: OperationsService,
    private readonly streams: EventStreams,
  ) {}

  @Serves(OperationsService, 'read')
  @Get('/api/operations/:id')
  read(@Caller() actor: Actor, @Input() input: OperationId) {
    return this.operations.read(actor, input);
  }

  @Serves(OperationsService, 'events', { produces: ['text/event-stream'] })
  @Get('/api/operations/:id/events')
  async events(
    @Caller() actor: Actor,
    @Input() input: WatchOperation,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const follow = await this.operations.events(actor, input);
    const after = resumeAfter(request, input.after);
    await this.streams.carry({ request, reply }, signal => follow(after, signal));
  }

  @Serves(OperationsService, 'cancel')
  @Post('/api/operations/:id/cancel')
  cancel(@Caller() actor: Actor, @Input() input: OperationId) {
    return this.operations.cancel(actor, input);
  }
}
