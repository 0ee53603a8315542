import { Controller, Get, Post, UseInterceptors } from '@nestjs/common';
import { ExecTokenOnly } from '../../platform/access/index.js';
import { type ActionCaller, ExecCaller } from '../../platform/actions/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ActionName, ExecuteAction, FindActions } from './actions.dto.js';
import { ActionsService } from './actions.service.js';
import { RefusedCalls } from './refused-calls.js';

@ExecTokenOnly()
@UseInterceptors(RefusedCalls)
@Controller()
export class ActionsExecController {
  constructor(private readonly actions: ActionsService) {}

  @Serves(ActionsService, 'listFor')
  @Get('/api/actions-exec')
  list(@ExecCaller() caller: ActionCaller, @Input() input: FindActions) {
    return this.actions.listFor(caller, input);
  }

  @Serves(ActionsService, 'readFor')
  @Get('/api/actions-exec/:name')
  read(@ExecCaller() caller: ActionCaller, @Input() input: ActionName) {
    return this.actions.readFor(caller, input);
  }

  @Serves(ActionsService, 'runFor')
  @Post('/api/actions-exec/:name')
  run(@ExecCaller() caller: ActionCaller, @Input() input: ExecuteAction) {
    return this.actions.runFor(caller, input);
  }
}
