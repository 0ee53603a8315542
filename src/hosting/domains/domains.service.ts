import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DomainChanges } from './domain-changes.js';
import { DomainList, DomainView, RemovedDomainView, SiteDomain, SiteDomains } from './domains.dto.js';

/** Hosts of people's own, on which their sites are served. */
@Injectable()
export class DomainsService {
  constructor(private readonly domains: DomainChanges) {}

  @Action({
    name: 'site_domain_list',
    route: 'GET /api/sites/:siteId/domains',
    on: 'site_id',
    summary: 'List the custom hosts of a site',
    effect: 'read',
    permission: 'site.read',
    input: SiteDomains,
    output: DomainList,
  })
  list(actor: Actor, { site_id }: SiteDomains): Promise<DomainList> {
    return this.domains.list(actor, 'site', site_id);
  }

  @Action({
    name: 'site_domain_create',
    route: 'POST /api/sites/:siteId/domains',
    on: 'site_id',
    summary: 'Name a host on which a site is to be served, and get the DNS record that shows whose it is',
    effect: 'write',
    permission: 'site.publish',
    input: SiteDomain,
    output: DomainView,
    commitsAnswer: true,
    refuses: { 409: 'The site has as many hosts as it may' },
  })
  create(actor: Actor, { site_id, host }: SiteDomain): Promise<DomainView> {
    return this.domains.create(actor, 'site', site_id, host);
  }

  @Action({
    name: 'site_domain_verify',
    route: 'POST /api/sites/:siteId/domains/:host/verify',
    on: 'site_id',
    summary: 'Look for the DNS record of a host; where it is found, the site is served there',
    effect: 'write',
    permission: 'site.publish',
    input: SiteDomain,
    output: DomainView,
    refuses: {
      404: 'No such site or host',
      409: 'Another site is served there, whose record is still found',
    },
  })
  verify(actor: Actor, { site_id, host }: SiteDomain): Promise<DomainView> {
    return this.domains.verify(actor, 'site', site_id, host);
  }

  @Action({
    name: 'site_domain_delete',
    route: 'DELETE /api/sites/:siteId/domains/:host',
    on: 'site_id',
    summary: 'Delete a custom host of a site, which is served there no more',
    effect: 'destructive',
    consequence: 'The host leads nowhere until it is named and verified again.',
    permission: 'site.publish',
    input: SiteDomain,
    output: RemovedDomainView,
    refuses: { 404: 'No such site or host' },
  })
  delete(actor: Actor, { site_id, host }: SiteDomain): Promise<RemovedDomainView> {
    return this.domains.delete(actor, 'site', site_id, host);
  }
}
