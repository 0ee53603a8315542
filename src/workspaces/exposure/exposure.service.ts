import { Injectable } from '@nestjs/common';
import { OrganizationsStore } from '../../identity/organizations/index.js';
import { type Actor, organizationRoleAllows } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DEFAULT_LIMIT, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { ExposedPage, ExposedView, ListExposed } from './exposure.dto.js';
import { Exposures } from './exposures.js';

/** What of an organization can be reached from outside. */
@Injectable()
export class ExposureService {
  constructor(
    private readonly organizations: OrganizationsStore,
    private readonly exposures: Exposures,
  ) {}

  @Action({
    name: 'exposure_list',
    route: 'GET /api/share/exposed',
    on: 'organization_id',
    summary: 'List everything of an organization that is reachable from outside, each with how to end it',
    effect: 'read',
    permission: 'exposure.list',
    input: ListExposed,
    output: ExposedPage,
    refuses: { 404: 'No such organization' },
  })
  async list(actor: Actor, input: ListExposed): Promise<Page<ExposedView>> {
    const { organization_id: organizationId, limit = DEFAULT_LIMIT, cursor } = input;
    const { role } = await this.organizations.require(actor, 'exposure.list', organizationId);
    const [after] = decodeCursor(cursor, 'id');
    const all = organizationRoleAllows(role, 'exposure.manage');
    const rows = await this.exposures.list(actor, { organizationId, all, after, limit: limit + 1 });
    return pageOf(
      rows,
      limit,
      row => row,
      row => [row.id],
    );
  }
}
