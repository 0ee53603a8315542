import { Controller, Get, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { Streams } from '../../platform/streams/index.js';
import { OperationId, WatchOperation } from './operations.dto.js';
import { OperationsService } from './operations.service.js';

@Controller()
export class OperationsController {
  constructor(private readonly operations: OperationsService) {}

  @Serves(OperationsService, 'read')
  @Get('/api/operations/:id')
  read(@Caller() actor: Actor, @Input() input: OperationId) {
    return this.operations.read(actor, input);
  }

  @Streams(OperationsService, 'events')
  @Get('/api/operations/:id/events')
  events(@Caller() actor: Actor, @Input() input: WatchOperation) {
    return this.operations.events(actor, input);
  }

  @Serves(OperationsService, 'cancel')
  @Post('/api/operations/:id/cancel')
  cancel(@Caller() actor: Actor, @Input() input: OperationId) {
    return this.operations.cancel(actor, input);
  }
}
