import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { ConnectionViews } from './connection-views.js';
import { IntegrationView, SetIntegrationGrants } from './integrations.dto.js';
import { ProviderCatalog } from './oauth/provider-catalog.js';
import { isLimited, parseLimits } from './providers/credential-limits.js';
import { ConnectionsStore } from './records/connections.store.js';
import { ConnectionGrants } from './requests/connection-grants.js';
import { normalPath } from './requests/request-path.js';

@Injectable()
export class ConnectionGrantsService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly connections: ConnectionsStore,
    private readonly catalog: ProviderCatalog,
    private readonly grants: ConnectionGrants,
    private readonly views: ConnectionViews,
    private readonly audit: Audit,
  ) {}

  @Action('integration_grant_set', 'PUT /api/integrations/:id/workspaces', {
    on: { id: 'connection' },
    summary: 'Set in which workspaces a connection may be used, and for which methods and paths',
    consequence: 'Those who may use connections there, and what they run, act at the service as its account.',
    permission: 'connection.manage',
    input: SetIntegrationGrants,
    output: IntegrationView,
    refuses: {
      404: 'No such connection or workspace',
      409: 'Another connection there would send the same header to the same host',
    },
  })
  async set(actor: Actor, { id, grants }: SetIntegrationGrants): Promise<IntegrationView> {
    const row = await this.connections.require(actor, 'connection.manage', id);
    const ids = grants.map(({ workspace_id }) => workspace_id);
    if (new Set(ids).size < ids.length) throw new Invalid('grants must name each workspace once');
    const definition = await this.catalog.require(row.organization_id, row.provider);
    const checked = grants.map(({ workspace_id, methods = [], paths = [], ...grant }, at) => {
      const limits = parseLimits(grant, `grants.${at}`);
      if (isLimited(limits) && definition.auth !== 'github_app')
        throw new Invalid(
          `grants.${at} must have no repositories and permissions: ${definition.name} limits no tokens to them; name paths`,
        );
      return {
        workspace_id,
        methods: [...new Set(methods)],
        repositories: [...limits.repositories],
        permissions: limits.permissions,
        paths: [...new Set(paths.map(path => normalPath(path, `grants.${at}.paths`)))],
      };
    });
    for (const workspaceId of ids) {
      const { organization_id } = await this.workspaces.require(actor, 'connection.use', workspaceId);
      if (organization_id !== row.organization_id)
        throw new Invalid('grants must name workspaces of the organization of the connection');
    }
    return this.database.transaction(async unit => {
      const locked = await this.connections.lock(unit, id);
      const { organization_id, provider, name } = locked;
      const target = { type: 'connection', id, organization_id };
      await this.audit.record(unit, actor, 'connection.grant', target, { provider, name, grants: checked });
      await this.grants.replace(unit, actor, locked, checked);
      return this.views.one(actor, row, unit);
    });
  }
}
