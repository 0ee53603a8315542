import { Controller, Get, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { Streams } from '../../platform/streams/index.js';
import { ChatEventsService } from './run-events.service.js';
import { ListRuns, RollbackRun, RunId } from './run-records.dto.js';
import { RunRecordsService, RunRollbackService } from './run-records.service.js';
import { ChatEventsInput, RunEventsInput, RunStatusInput, StopRuns } from './runs.dto.js';
import { RunsService } from './runs.service.js';

@Controller()
export class RunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly chatEventsService: ChatEventsService,
    private readonly records: RunRecordsService,
    private readonly rollbacks: RunRollbackService,
  ) {}

  @Serves(RunsService, 'status')
  @Get('/api/agent/status/:callId')
  status(@Caller() actor: Actor, @Input() input: RunStatusInput) {
    return this.runs.status(actor, input);
  }

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

  @Serves(RunsService, 'stop')
  @Post('/api/agent/stop')
  stop(@Caller() actor: Actor, @Input() input: StopRuns) {
    return this.runs.stop(actor, input);
  }

  @Serves(RunRecordsService, 'list')
  @Get('/api/agent/runs')
  list(@Caller() actor: Actor, @Input() input: ListRuns) {
    return this.records.list(actor, input);
  }

  @Serves(RunRecordsService, 'read')
  @Get('/api/agent/runs/:callId')
  read(@Caller() actor: Actor, @Input() input: RunId) {
    return this.records.read(actor, input);
  }

  @Serves(RunRollbackService, 'rollback')
  @Post('/api/agent/runs/:callId/rollback')
  rollback(@Caller() actor: Actor, @Input() input: RollbackRun) {
    return this.rollbacks.rollback(actor, input);
  }
}
