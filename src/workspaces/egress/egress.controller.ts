import { Controller, Get, Patch } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ReadEgress, UpdateEgress } from './egress.dto.js';
import { EgressService } from './egress.service.js';

const EGRESS = '/api/workspaces/:workspaceId/egress';

@Controller()
export class EgressController {
  constructor(private readonly egress: EgressService) {}

  @Serves(EgressService, 'read')
  @Get(EGRESS)
  read(@Caller() actor: Actor, @Input() input: ReadEgress) {
    return this.egress.read(actor, input);
  }

  @Serves(EgressService, 'update')
  @Patch(EGRESS)
  update(@Caller() actor: Actor, @Input() input: UpdateEgress) {
    return this.egress.update(actor, input);
  }
}
