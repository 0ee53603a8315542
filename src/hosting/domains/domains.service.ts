import { Injectable } from '@nestjs/common';
import { type Actor, randomSecret } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Invalid, NotFound } from '../../platform/errors/index.js';
import { Ingress } from '../../platform/ingress/index.js';
import { type HostedTarget, HostedTargets, HostingDomain } from '../hosts/index.js';
import { DomainChecks } from './domain-checks.js';
import { viewOf } from './domain-view.js';
import { RemovedDomainView, SiteDomain, SiteDomainList, SiteDomains, SiteDomainView } from './domains.dto.js';
import { type DomainRow, DomainsStore } from './domains.store.js';
import { hostOf } from './host-rules.js';

const MAX_DOMAINS = 20;

/** Hosts of people's own, on which their sites are served. */
@Injectable()
export class DomainsService {
  constructor(
    private readonly database: Database,
    private readonly targets: HostedTargets,
    private readonly domain: HostingDomain,
    private readonly ingress: Ingress,
    private readonly store: DomainsStore,
    private readonly checks: DomainChecks,
    private readonly audit: Audit,
  ) {}

  @Action({
    name: 'site_domain_list',
    route: 'GET /api/sites/:siteId/domains',
    on: 'site_id',
    summary: 'List the custom hosts of a site',
    effect: 'read',
    permission: 'site.read',
    input: SiteDomains,
    output: SiteDomainList,
  })
  async list(actor: Actor, { site_id }: SiteDomains): Promise<SiteDomainList> {
    const target = await this.targets.require(actor, 'site.read', 'site', site_id);
    return { items: (await this.store.list(target)).map(viewOf) };
  }

  @Action({
    name: 'site_domain_create',
    route: 'POST /api/sites/:siteId/domains',
    on: 'site_id',
    summary: 'Name a host on which a site is to be served, and get the DNS record that shows whose it is',
    effect: 'write',
    permission: 'site.publish',
    input: SiteDomain,
    output: SiteDomainView,
    commitsAnswer: true,
    refuses: { 409: 'The site has as many hosts as it may' },
  })
  async create(actor: Actor, { site_id, host: given }: SiteDomain): Promise<SiteDomainView> {
    const target = await this.targets.require(actor, 'site.publish', 'site', site_id);
    const host = hostOf(given);
    this.requireForeign(host);
    return this.database.transaction(async unit => {
      const added = await this.store.add(unit, target, { host, proof: randomSecret(), createdBy: actor.id });
      if (!added) return unit.answers(viewOf(await this.find(target, host, unit)));
      if ((await this.store.count(unit, target)) > MAX_DOMAINS)
        throw new Conflict(`A site has ${MAX_DOMAINS} custom hosts at most; delete one first`);
      await this.audit.record(unit, actor, 'site_domain.create', auditTargetOf(target), { host });
      return unit.answers(viewOf(added));
    });
  }

  @Action({
    name: 'site_domain_verify',
    route: 'POST /api/sites/:siteId/domains/:host/verify',
    on: 'site_id',
    summary: 'Look for the DNS record of a host; where it is found, the site is served there',
    effect: 'write',
    permission: 'site.publish',
    input: SiteDomain,
    output: SiteDomainView,
    refuses: {
      404: 'No such site or host',
      409: 'Another site is served there, whose record is still found',
    },
  })
  async verify(actor: Actor, { site_id, host }: SiteDomain): Promise<SiteDomainView> {
    const target = await this.targets.require(actor, 'site.publish', 'site', site_id);
    const row = await this.find(target, host);
    if (await this.checks.verify(row))
      await this.database.transaction(unit =>
        this.audit.record(unit, actor, 'site_domain.verify', auditTargetOf(target), { host: row.name }),
      );
    return viewOf(await this.find(target, host));
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
  async delete(actor: Actor, { site_id, host }: SiteDomain): Promise<RemovedDomainView> {
    const target = await this.targets.require(actor, 'site.publish', 'site', site_id);
    const { name } = await this.find(target, host);
    await this.database.transaction(async unit => {
      if (!(await this.store.remove(unit, target, name))) throw noSuchHost();
      await this.audit.record(unit, actor, 'site_domain.delete', auditTargetOf(target), { host: name });
      await this.checks.changed(unit);
    });
    return { host: name, removed: true };
  }

  private async find(target: HostedTarget, host: string, unit?: UnitOfWork): Promise<DomainRow> {
    const row = await this.store.find(target, hostOf(host), unit);
    if (!row) throw noSuchHost();
    return row;
  }

  /** 422 for a host of the installation. */
  private requireForeign(host: string): void {
    const { domain } = this.domain;
    if (this.ingress.has(host) || this.domain.holds(host) || host === domain || host === `share.${domain}`)
      throw new Invalid(`host must be one of your own; ${host} belongs to this installation`);
  }
}

const noSuchHost = () => new NotFound('No such host');

const auditTargetOf = ({ kind, id, organizationId, workspaceId }: HostedTarget) => ({
  type: kind,
  id,
  organization_id: organizationId,
  workspace_id: workspaceId,
});
