import { Injectable } from '@nestjs/common';
import { OrganizationId, OrganizationsStore } from '../../../identity/organizations/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { ExposureLimitView, SetExposureLimit } from './access.dto.js';
import { AccessPolicies } from './access-policies.js';
import { AccessPolicyStore } from './access-policy.store.js';

@Injectable()
export class ExposureLimitService {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
    private readonly policies: AccessPolicies,
    private readonly store: AccessPolicyStore,
    private readonly audit: Audit,
  ) {}

  @Action('exposure_limit_get', 'GET /api/organizations/:orgId/exposure-limit', {
    summary: 'Read how far sites and servers of an organization may be opened',
    permission: 'exposure.list',
    input: OrganizationId,
    output: ExposureLimitView,
  })
  async read(actor: Actor, { organization_id }: OrganizationId): Promise<ExposureLimitView> {
    await this.organizations.require(actor, 'exposure.list', organization_id);
    return { max_exposure: await this.store.limitOf(organization_id) };
  }

  @Action('exposure_limit_set', 'PUT /api/organizations/:orgId/exposure-limit', {
    summary:
      'Set how far sites and servers of an organization may be opened; what is open further is closed to its workspace',
    consequence: 'With a higher limit, editors of workspaces can open what they make to more people.',
    permission: 'exposure.limit',
    input: SetExposureLimit,
    output: ExposureLimitView,
  })
  async set(actor: Actor, { organization_id, max_exposure }: SetExposureLimit): Promise<ExposureLimitView> {
    await this.organizations.require(actor, 'exposure.limit', organization_id);
    await this.database.transaction(async unit => {
      await this.store.setLimit(unit, organization_id, max_exposure, actor.id);
      const target = { type: 'organization', id: organization_id, organization_id };
      await this.audit.record(unit, actor, 'organization.set_exposure_limit', target, { max_exposure });
      await this.policies.changed(unit, organization_id);
    });
    return { max_exposure };
  }
}
