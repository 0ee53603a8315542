import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ActionRunId, ListActionRuns } from './action-runs.dto.js';
import { ActionRunsService } from './action-runs.service.js';

@Controller()
export class ActionRunsController {
  constructor(private readonly runs: ActionRunsService) {}

  @Serves(ActionRunsService, 'list')
  @Get('/api/action-runs')
  list(@Caller() actor: Actor, @Input() input: ListActionRuns) {
    return this.runs.list(actor, input);
  }

  @Serves(ActionRunsService, 'read')
  @Get('/api/action-runs/:id')
  read(@Caller() actor: Actor, @Input() input: ActionRunId) {
    return this.runs.read(actor, input);
  }
}
