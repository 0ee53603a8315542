import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Streams } from '../../platform/streams/index.js';
import { ReadServerLog } from './logs/server-log.dto.js';
import { ServerLogService } from './logs/server-log.service.js';

@Controller()
export class TunnelsController {
  constructor(private readonly log: ServerLogService) {}

  @Streams(ServerLogService, 'events')
  @Get('/api/tunnels/:id/events')
  events(@Caller() actor: Actor, @Input() input: ReadServerLog) {
    return this.log.events(actor, input);
  }
}
