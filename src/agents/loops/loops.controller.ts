import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Streams } from '../../platform/streams/index.js';
import { WatchLoop } from './loops.dto.js';
import { LoopsService } from './loops.service.js';

@Controller()
export class LoopsController {
  constructor(private readonly loops: LoopsService) {}

  @Streams(LoopsService, 'events')
  @Get('/api/loops/:id/events')
  events(@Caller() actor: Actor, @Input() input: WatchLoop) {
    return this.loops.events(actor, input);
  }
}
