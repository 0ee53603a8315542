import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import type { Page } from '../../platform/dto/index.js';
import { OrganizationsStore } from '../organizations/index.js';
import { AuditEntryView, AuditPage, ListAudit } from './audit-log.dto.js';
import { AuditLogStore } from './audit-log.store.js';

/** What was done in an organization, for those who answer for it. */
@Injectable()
export class AuditLogService {
  constructor(
    private readonly log: AuditLogStore,
    private readonly organizations: OrganizationsStore,
  ) {}

  @Action('audit_list', 'GET /api/organizations/:orgId/audit', {
    summary: 'List who changed what in an organization, newest first',
    permission: 'audit.read',
    input: ListAudit,
    output: AuditPage,
  })
  async list(actor: Actor, input: ListAudit): Promise<Page<AuditEntryView>> {
    await this.organizations.require(actor, 'audit.read', input.organization_id);
    return this.log.list(actor, input);
  }
}
