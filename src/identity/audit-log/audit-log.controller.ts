import { Controller, Get } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
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
