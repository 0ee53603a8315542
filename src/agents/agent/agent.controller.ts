import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { EventStreams, resumeAfter } from '../../platform/streams/index.js';
import { ChatEventsInput, RunEventsInput, RunStatusInput, SendMessage } from './agent.dto.js';
import { AgentService } from './agent.service.js';
import { ChatEventsService } from './chat-events.service.js';
import { RunsService } from './runs.service.js';

@Controller()
export class AgentController {
  constructor(
    private readonly agent: AgentService,
    private readonly runs: RunsService,
    private readonly chatWatch: ChatEventsService,
    private readonly streams: EventStreams,
  ) {}

  @Serves(AgentService, 'send')
  @Post('/api/agent/message')
  send(@Caller() actor: Actor, @Input() input: SendMessage) {
    return this.agent.send(actor, input);
  }

  @Serves(RunsService, 'status')
  @Get('/api/agent/status/:callId')
  status(@Caller() actor: Actor, @Input() input: RunStatusInput) {
    return this.runs.status(actor, input);
  }

  @Serves(RunsService, 'events', { produces: ['text/event-stream'] })
  @Get('/api/agent/runs/:callId/events')
  async events(
    @Caller() actor: Actor,
    @Input() input: RunEventsInput,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const open = await this.runs.events(actor, input);
    const after = resumeAfter(request, input.after);
    await this.streams.carry({ request, reply }, signal => open(after, signal));
  }

  @Serves(ChatEventsService, 'events', { produces: ['text/event-stream'] })
  @Get('/api/chats/:id/events')
  async chatEvents(
    @Caller() actor: Actor,
    @Input() input: ChatEventsInput,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const open = await this.chatWatch.events(actor, input);
    const after = resumeAfter(request, input.after);
    await this.streams.carry({ request, reply }, signal => open(after, signal));
  }
}
