import { Controller, Get, Post, UseInterceptors } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ActionName, RunAction, SearchActions } from './actions.dto.js';
import { ActionsService } from './actions.service.js';
import { RefusedCalls } from './refused-calls.js';

@UseInterceptors(RefusedCalls)
@Controller()
export class ActionsController {
  constructor(private readonly actions: ActionsService) {}

  @Serves(ActionsService, 'search')
  @Get('/api/actions')
  search(@Caller() actor: Actor, @Input() input: SearchActions) {
    return this.actions.search(actor, input);
  }

  @Serves(ActionsService, 'read')
  @Get('/api/actions/:name')
  read(@Caller() actor: Actor, @Input() input: ActionName) {
    return this.actions.read(actor, input);
  }

  @Serves(ActionsService, 'run')
  @Post('/api/actions/:name/run')
  run(@Caller() actor: Actor, @Input() input: RunAction) {
    return this.actions.run(actor, input);
  }
}
