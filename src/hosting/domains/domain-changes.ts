import { Injectable } from '@nestjs/common';
import { type Actor, randomSecret } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Invalid, NotFound } from '../../platform/errors/index.js';
import { Ingress } from '../../platform/ingress/index.js';
import {
  HOSTED_PERMISSIONS,
  type HostedKind,
  type HostedTarget,
  HostedTargets,
  HostingDomain,
} from '../hosts/index.js';
import { DomainChecks } from './domain-checks.js';
import { viewOf } from './domain-view.js';
import type { DomainList, DomainView, RemovedDomainView } from './domains.dto.js';
import { type DomainRow, DomainsStore } from './domains.store.js';
import { hostOf } from './host-rules.js';

const MAX_DOMAINS = 20;

/** Changes of people's own hosts, on which their sites and servers answer. */
@Injectable()
export class DomainChanges {
  constructor(
    private readonly database: Database,
    private readonly targets: HostedTargets,
    private readonly domain: HostingDomain,
    private readonly ingress: Ingress,
    private readonly store: DomainsStore,
    private readonly checks: DomainChecks,
    private readonly audit: Audit,
  ) {}

  async list(actor: Actor, kind: HostedKind, id: string): Promise<DomainList> {
    const target = await this.targets.require(actor, HOSTED_PERMISSIONS[kind].read, kind, id);
    return { items: (await this.store.list(target)).map(viewOf) };
  }

  /** 409 where there are as many as there may be, 422 for a host of the installation. */
  async create(actor: Actor, kind: HostedKind, id: string, given: string): Promise<DomainView> {
    const target = await this.targets.require(actor, HOSTED_PERMISSIONS[kind].manage, kind, id);
    const host = hostOf(given);
    this.requireForeign(host);
    return this.database.transaction(async unit => {
      const added = await this.store.add(unit, target, { host, proof: randomSecret(), createdBy: actor.id });
      if (!added) return unit.answers(viewOf(await this.find(target, host, unit)));
      if ((await this.store.count(unit, target)) > MAX_DOMAINS)
        throw new Conflict(`A ${kind} has ${MAX_DOMAINS} custom hosts at most; delete one first`);
      await this.audit.record(unit, actor, `${kind}_domain.create`, auditTargetOf(target), { host });
      return unit.answers(viewOf(added));
    });
  }

  /** 404 where it was not named, 409 where it is somebody else's by right. */
  async verify(actor: Actor, kind: HostedKind, id: string, host: string): Promise<DomainView> {
    const target = await this.targets.require(actor, HOSTED_PERMISSIONS[kind].manage, kind, id);
    const row = await this.find(target, host);
    if (await this.checks.verify(row))
      await this.database.transaction(unit =>
        this.audit.record(unit, actor, `${kind}_domain.verify`, auditTargetOf(target), { host: row.name }),
      );
    return viewOf(await this.find(target, host));
  }

  /** 404 where it was not named. */
  async delete(actor: Actor, kind: HostedKind, id: string, host: string): Promise<RemovedDomainView> {
    const target = await this.targets.require(actor, HOSTED_PERMISSIONS[kind].manage, kind, id);
    const { name } = await this.find(target, host);
    await this.database.transaction(async unit => {
      if (!(await this.store.remove(unit, target, name))) throw noSuchHost();
      await this.audit.record(unit, actor, `${kind}_domain.delete`, auditTargetOf(target), { host: name });
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
