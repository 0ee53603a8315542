import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Streams } from '../../platform/streams/index.js';
import { WatchOperation } from './operations.dto.js';
import { OperationsService } from './operations.service.js';

@Controller()
export class OperationsController {
  constructor(private readonly operations: OperationsService) {}

  @Streams(OperationsService, 'events')
  @Get('/api/operations/:id/events')
  events(@Caller() actor: Actor, @Input() input: WatchOperation) {
    return this.operations.events(actor, input);
  }
}
