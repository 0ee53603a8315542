import { Module } from '@nestjs/common';
import { RoutesOf } from '../../platform/openapi/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { AuditLogService } from './audit-log.service.js';
import { AuditLogStore } from './audit-log.store.js';

/** Reading the audit log of an organization. */
@Module({
  imports: [OrganizationsModule],
  controllers: [RoutesOf(AuditLogService)],
  providers: [AuditLogService, AuditLogStore],
})
export class AuditLogModule {}
