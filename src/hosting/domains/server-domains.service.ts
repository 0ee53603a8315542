import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DomainChanges } from './domain-changes.js';
import { DomainList, DomainView, RemovedDomainView, ServerDomain, ServerDomains } from './domains.dto.js';

/** Hosts of people's own, on which their servers answer. */
@Injectable()
export class ServerDomainsService {
  constructor(private readonly domains: DomainChanges) {}

  @Action({
    name: 'server_domain_list',
    route: 'GET /api/tunnels/:serverId/domains',
    on: 'server_id',
    summary: 'List the custom hosts of a server',
    effect: 'read',
    permission: 'tunnel.read',
    input: ServerDomains,
    output: DomainList,
  })
  list(actor: Actor, { server_id }: ServerDomains): Promise<DomainList> {
    return this.domains.list(actor, 'server', server_id);
  }

  @Action({
    name: 'server_domain_create',
    route: 'POST /api/tunnels/:serverId/domains',
    on: 'server_id',
    summary: 'Name a host on which a server is to answer, and get the DNS record that shows whose it is',
    effect: 'write',
    permission: 'tunnel.manage',
    input: ServerDomain,
    output: DomainView,
    commitsAnswer: true,
    refuses: { 409: 'The server has as many hosts as it may' },
  })
  create(actor: Actor, { server_id, host }: ServerDomain): Promise<DomainView> {
    return this.domains.create(actor, 'server', server_id, host);
  }

  @Action({
    name: 'server_domain_verify',
    route: 'POST /api/tunnels/:serverId/domains/:host/verify',
    on: 'server_id',
    summary: 'Look for the DNS record of a host; where it is found, the server answers there',
    effect: 'write',
    permission: 'tunnel.manage',
    input: ServerDomain,
    output: DomainView,
    refuses: {
      404: 'No such server or host',
      409: 'Another server answers there, whose record is still found',
    },
  })
  verify(actor: Actor, { server_id, host }: ServerDomain): Promise<DomainView> {
    return this.domains.verify(actor, 'server', server_id, host);
  }

  @Action({
    name: 'server_domain_delete',
    route: 'DELETE /api/tunnels/:serverId/domains/:host',
    on: 'server_id',
    summary: 'Delete a custom host of a server, which answers there no more',
    effect: 'destructive',
    consequence: 'The host leads nowhere until it is named and verified again.',
    permission: 'tunnel.manage',
    input: ServerDomain,
    output: RemovedDomainView,
    refuses: { 404: 'No such server or host' },
  })
  delete(actor: Actor, { server_id, host }: ServerDomain): Promise<RemovedDomainView> {
    return this.domains.delete(actor, 'server', server_id, host);
  }
}
