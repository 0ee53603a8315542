import { Controller, Get } from '@nestjs/common';
import { Caller } from '../../platform/access/access.js';
import type { Actor } from '../../platform/access/actor.js';
import { Input } from '../../platform/dto/input.js';
import { Serves } from '../../platform/openapi/serves.js';
import { ListAudit } from './audit-log.dto.js';
import { AuditLogService } from './audit-log.service.js';

@Controller()
export class AuditLogController {
  constructor(private readonly log: AuditLogService) {}

  @Serves(AuditLogService, 'list')
  @Get('/api/organizations/:orgId/audit')
  list(@Caller() actor: Actor, @Input() input: ListAudit) {
    return this.log.list(actor, input);
  }
}
