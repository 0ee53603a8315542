import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/index.js';
import { AuditLogController } from './audit-log.controller.js';
import { AuditLogService } from './audit-log.service.js';

/** Reading the audit log of an organization. */
@Module({
  imports: [OrganizationsModule],
  controllers: [AuditLogController],
  providers: [AuditLogService],
})
export class AuditLogModule {}
