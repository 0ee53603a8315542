import { Controller, Get, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ListRuns, RollbackRun, RunId, StopRuns } from './run-control.dto.js';
import { RunControlService } from './run-control.service.js';
import { RunRecordsService } from './run-records.service.js';
import { RunRollbackService } from './run-rollback.service.js';

@Controller()
export class RunControlController {
  constructor(
    private readonly control: RunControlService,
    private readonly records: RunRecordsService,
    private readonly rollbacks: RunRollbackService,
  ) {}

  @Serves(RunControlService, 'stop')
  @Post('/api/agent/stop')
  stop(@Caller() actor: Actor, @Input() input: StopRuns) {
    return this.control.stop(actor, input);
  }

  @Serves(RunRecordsService, 'list')
  @Get('/api/agent/runs')
  runs(@Caller() actor: Actor, @Input() input: ListRuns) {
    return this.records.list(actor, input);
  }

  @Serves(RunRecordsService, 'read')
  @Get('/api/agent/runs/:callId')
  run(@Caller() actor: Actor, @Input() input: RunId) {
    return this.records.read(actor, input);
  }

  @Serves(RunRollbackService, 'rollback')
  @Post('/api/agent/runs/:callId/rollback')
  rollback(@Caller() actor: Actor, @Input() input: RollbackRun) {
    return this.rollbacks.rollback(actor, input);
  }
}
