import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Streams } from '../../platform/streams/index.js';
import { ChatEventsService } from './run-events.service.js';
import { ChatEventsInput, RunEventsInput } from './runs.dto.js';
import { RunsService } from './runs.service.js';

@Controller()
export class RunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly chatEventsService: ChatEventsService,
  ) {}

  @Streams(RunsService, 'events')
  @Get('/api/agent/runs/:callId/events')
  events(@Caller() actor: Actor, @Input() input: RunEventsInput) {
    return this.runs.events(actor, input);
  }

  @Streams(ChatEventsService, 'events')
  @Get('/api/chats/:id/events')
  chatEvents(@Caller() actor: Actor, @Input() input: ChatEventsInput) {
    return this.chatEventsService.events(actor, input);
  }
}
