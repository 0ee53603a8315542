import { Injectable } from '@nestjs/common';
import { type Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { ConnectorViews } from './connector-views.js';
import { ConnectorView, SetConnectorWorkspaces } from './connectors.dto.js';
import { ConnectorsStore } from './records/connectors.store.js';
import { GrantsStore } from './records/grants.store.js';

const MAX_IN_WORKSPACE = 30;

@Injectable()
export class ConnectorUseService {
  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorsStore,
    private readonly grants: GrantsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly views: ConnectorViews,
    private readonly audit: Audit,
  ) {}

  @Action('connector_workspace_set', 'PUT /api/connectors/:id/workspaces', {
    on: { id: 'connector' },
    summary: 'Say in which workspaces agents may use a connector, and which of its tools',
    consequence:
      'Agents there may call its approved tools for everyone who works with them; a personal one only for its owner.',
    permission: 'provider.configure',
    input: SetConnectorWorkspaces,
    output: ConnectorView,
    refuses: { 409: 'A workspace has as many connectors as it may have' },
  })
  async set(actor: Actor, { id, grants: given }: SetConnectorWorkspaces): Promise<ConnectorView> {
    const connector = await this.connectors.require(actor, 'provider.configure', id);
    await this.requireGrantable(actor, connector.organization_id, given);
    const grants = given.map(({ workspace_id, tools }) => ({ workspace_id, tools: tools ?? null }));
    await this.database.transaction(async unit => {
      await this.connectors.require(actor, 'provider.configure', id, unit);
      await this.connectors.lock(unit, id);
      await this.grants.replace(unit, actor, id, grants);
      await this.requireRoom(
        unit,
        grants.map(({ workspace_id }) => workspace_id),
      );
      await this.connectors.publish(unit, id);
      const target = { type: 'connector', id, organization_id: connector.organization_id };
      await this.audit.record(unit, actor, 'connector.set_workspaces', target, { grants });
    });
    return this.views.one(actor, connector);
  }

  private async requireGrantable(
    actor: Actor,
    organizationId: string,
    grants: SetConnectorWorkspaces['grants'],
  ): Promise<void> {
    const seen = new Set<string>();
    for (const [at, { workspace_id }] of grants.entries()) {
      if (seen.has(workspace_id)) throw new Invalid(`grants.${at}.workspace_id names a workspace twice`);
      seen.add(workspace_id);
      const workspace = await this.workspaces.require(actor, 'connection.use', workspace_id);
      if (workspace.organization_id !== organizationId)
        throw new Invalid(
          `grants.${at}.workspace_id must be a workspace of the organization of the connector`,
        );
    }
  }

  private async requireRoom(unit: UnitOfWork, workspaceIds: readonly string[]): Promise<void> {
    const counts = await this.grants.counts(unit, workspaceIds);
    if (counts.some(count => count > MAX_IN_WORKSPACE))
      throw new Conflict(`A workspace has at most ${MAX_IN_WORKSPACE} connectors; take one away first`);
  }
}
