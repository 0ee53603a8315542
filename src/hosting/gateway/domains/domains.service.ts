import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { Injectable, type Type } from '@nestjs/common';
import { type Actor, randomSecret } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { ById, toView } from '../../../platform/dto/index.js';
import { Conflict, Invalid, NotFound } from '../../../platform/errors/index.js';
import { Ingress } from '../../../platform/ingress/index.js';
import { auditTarget, HOSTED, type HostedInput, hostedId } from '../hosts/hosted-kinds.js';
import { type HostedTarget, HostedTargets } from '../hosts/hosted-targets.js';
import { type HostedKind, HostingDomain } from '../hosts/hosting-domain.js';
import { DomainChecks } from './domain-checks.js';
import { DomainList, DomainView, RemovedDomainView, ServerDomain, SiteDomain } from './domains.dto.js';
import { type DomainRow, DomainsStore } from './domains.store.js';
import { recordOf } from './host-proofs.js';

const MAX_DOMAINS = 20;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

interface Shapes {
  readonly Id: Type<HostedInput>;
  readonly Domain: Type<HostedInput & { host: string }>;
  readonly verb: { readonly infinitive: string; readonly present: string };
}

function domainsService(kind: HostedKind, { Id, Domain, verb }: Shapes) {
  const { field, path, read, manage } = HOSTED[kind];

  @Injectable()
  class DomainsService {
    constructor(
      private readonly database: Database,
      private readonly targets: HostedTargets,
      private readonly domain: HostingDomain,
      private readonly ingress: Ingress,
      private readonly store: DomainsStore,
      private readonly checks: DomainChecks,
      private readonly audit: Audit,
    ) {}

    @Action(`${kind}_domain_list`, `GET ${path}/domains`, {
      on: field,
      summary: `List the custom hosts of a ${kind}`,
      effect: 'read',
      permission: read,
      input: Id,
      output: DomainList,
    })
    async list(actor: Actor, input: HostedInput): Promise<DomainList> {
      const target = await this.targets.require(actor, read, kind, hostedId(input));
      return { items: (await this.store.list(target)).map(domainView) };
    }

    @Action(`${kind}_domain_create`, `POST ${path}/domains`, {
      on: field,
      summary: `Name a host on which a ${kind} is to ${verb.infinitive}, and get the DNS record that shows whose it is`,
      effect: 'write',
      permission: manage,
      input: Domain,
      output: DomainView,
      commitsAnswer: true,
      refuses: { 409: `The ${kind} has as many hosts as it may` },
    })
    async create(actor: Actor, input: HostedInput & { host: string }): Promise<DomainView> {
      const target = await this.targets.require(actor, manage, kind, hostedId(input));
      const host = hostName(input.host);
      this.requireForeign(host);
      return this.database.transaction(async unit => {
        const added = await this.store.add(unit, target, {
          host,
          proof: randomSecret(),
          createdBy: actor.id,
        });
        if (!added) return unit.answers(domainView(await this.find(target, host, unit)));
        if ((await this.store.count(unit, target)) > MAX_DOMAINS)
          throw new Conflict(`A ${kind} has ${MAX_DOMAINS} custom hosts at most; delete one first`);
        await this.audit.record(unit, actor, `${kind}_domain.create`, auditTarget(target), { host });
        return unit.answers(domainView(added));
      });
    }

    @Action(`${kind}_domain_verify`, `POST ${path}/domains/:host/verify`, {
      on: field,
      summary: `Look for the DNS record of a host; where it is found, the ${kind} ${verb.present} there`,
      effect: 'write',
      permission: manage,
      input: Domain,
      output: DomainView,
      refuses: {
        404: `No such ${kind} or host`,
        409: `Another ${kind} ${verb.present} there, whose record is still found`,
      },
    })
    async verify(actor: Actor, input: HostedInput & { host: string }): Promise<DomainView> {
      const target = await this.targets.require(actor, manage, kind, hostedId(input));
      const row = await this.find(target, input.host);
      if (await this.checks.verify(row))
        await this.database.transaction(unit =>
          this.audit.record(unit, actor, `${kind}_domain.verify`, auditTarget(target), { host: row.name }),
        );
      return domainView(await this.find(target, input.host));
    }

    @Action(`${kind}_domain_delete`, `DELETE ${path}/domains/:host`, {
      on: field,
      summary: `Delete a custom host of a ${kind}, which ${verb.present} there no more`,
      effect: 'destructive',
      consequence: 'The host leads nowhere until it is named and verified again.',
      permission: manage,
      input: Domain,
      output: RemovedDomainView,
      refuses: { 404: `No such ${kind} or host` },
    })
    async delete(actor: Actor, input: HostedInput & { host: string }): Promise<RemovedDomainView> {
      const target = await this.targets.require(actor, manage, kind, hostedId(input));
      const { name: host } = await this.find(target, input.host);
      await this.database.transaction(async unit => {
        if (!(await this.store.remove(unit, target, host))) throw noSuchHost();
        await this.audit.record(unit, actor, `${kind}_domain.delete`, auditTarget(target), { host });
        await this.checks.changed(unit);
      });
      return { host, removed: true };
    }

    private async find(target: HostedTarget, host: string, unit?: UnitOfWork): Promise<DomainRow> {
      const row = await this.store.find(target, hostName(host), unit);
      if (!row) throw noSuchHost();
      return row;
    }

    /** 422 for hosts of the installation. */
    private requireForeign(host: string): void {
      const { domain } = this.domain;
      if (this.ingress.has(host) || this.domain.holds(host) || host === domain || host === `share.${domain}`)
        throw new Invalid(`host must be one of your own; ${host} belongs to this installation`);
    }
  }
  return DomainsService;
}

export const SiteDomainsService = domainsService('site', {
  Id: ById({ site_id: 'The site' }),
  Domain: SiteDomain,
  verb: { infinitive: 'be served', present: 'is served' },
});
export const ServerDomainsService = domainsService('server', {
  Id: ById({ server_id: 'The server' }),
  Domain: ServerDomain,
  verb: { infinitive: 'answer', present: 'answers' },
});

const noSuchHost = () => new NotFound('No such host');

const domainView = (row: DomainRow): DomainView => {
  const { name, proof } = row;
  return toView(DomainView, row, { host: name, record: recordOf(name, proof ?? '') });
};

/** Normalizes a host to lower-case ASCII. 422 if it is no DNS name. */
function hostName(given: string): string {
  const host = domainToASCII(given.trim().replace(/\.$/, '')).toLowerCase();
  const labels = host.split('.');
  const isName = labels.length > 1 && host.length <= 243 && labels.every(label => LABEL.test(label));
  if (!isName || isIP(host) !== 0 || /^\d+$/.test(labels.at(-1) ?? '') || host.endsWith('.localhost'))
    throw new Invalid('host must be a full host name, such as docs.example.com');
  return host;
}
