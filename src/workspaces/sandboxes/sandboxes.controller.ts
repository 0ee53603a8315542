import { Controller, Delete, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { SandboxControlService } from './sandbox-control.service.js';
import { ListSandboxes, SandboxRef } from './sandboxes.dto.js';

const SANDBOXES = '/api/workspaces/:workspaceId/sandboxes';

@Controller()
export class SandboxesController {
  constructor(private readonly sandboxes: SandboxControlService) {}

  @Serves(SandboxControlService, 'list')
  @Get(SANDBOXES)
  list(@Caller() actor: Actor, @Input() input: ListSandboxes) {
    return this.sandboxes.list(actor, input);
  }

  @Serves(SandboxControlService, 'end')
  @Delete(`${SANDBOXES}/:sandboxId`)
  end(@Caller() actor: Actor, @Input() input: SandboxRef) {
    return this.sandboxes.end(actor, input);
  }
}
