import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DeletedView } from '../../platform/dto/index.js';
import { HostedTargets } from '../hosts/index.js';
import { SetSiteAccess, SiteAccessView, SiteId } from './access.dto.js';
import { AccessChanges } from './access-changes.js';
import { AccessViews } from './access-views.js';

/** Who may open sites, as their editors set it. */
@Injectable()
export class AccessService {
  constructor(
    private readonly targets: HostedTargets,
    private readonly changes: AccessChanges,
    private readonly views: AccessViews,
  ) {}

  @Action({
    name: 'site_access_get',
    route: 'GET /api/site-access/:siteId',
    on: 'site_id',
    summary: 'Read who may open a site',
    effect: 'read',
    permission: 'site.read',
    input: SiteId,
    output: SiteAccessView,
  })
  async read(actor: Actor, { site_id }: SiteId): Promise<SiteAccessView> {
    const target = await this.targets.require(actor, 'site.read', 'site', site_id);
    return { site_id, ...(await this.views.of(actor, target)) };
  }

  @Action({
    name: 'site_access_set',
    route: 'PUT /api/site-access/:siteId',
    on: 'site_id',
    summary: 'Set who may open a site; everybody who has it open is checked anew',
    effect: 'expose',
    consequence:
      'Whoever the mode lets in can then open the site; with link, password and public, without an account.',
    permission: 'hosting.access',
    input: SetSiteAccess,
    output: SiteAccessView,
    refuses: { 409: 'The organization does not allow as much' },
  })
  async set(actor: Actor, { site_id, ...input }: SetSiteAccess): Promise<SiteAccessView> {
    const target = await this.changes.open(actor, 'site', site_id, input);
    return { site_id, ...(await this.views.of(actor, target)) };
  }

  @Action({
    name: 'site_access_clear',
    route: 'DELETE /api/site-access/:siteId',
    on: 'site_id',
    summary: 'Close a site to all but the members of its workspace. Organization admins may close any',
    effect: 'destructive',
    consequence: 'Its link and password never work again, and visitors from outside are out at once.',
    permission: 'site.publish',
    input: SiteId,
    output: DeletedView,
  })
  async clear(actor: Actor, { site_id }: SiteId): Promise<DeletedView> {
    await this.changes.close(actor, 'site', site_id);
    return DeletedView.of(site_id);
  }
}
