import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { Events } from '../../../platform/events/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { connectionTopic } from '../../stored-credentials/index.js';
import { ProviderCatalog } from '../oauth/provider-catalog.js';
import { connectionChanged, connectionGranted } from '../records/connection-events.js';
import type { ConnectionRow } from '../records/connections.store.js';
import { type GrantedRow, type GrantFields, GrantsStore } from '../records/grants.store.js';
import { type CredentialPlace, listPlaces, nameOf } from './credential-places.js';
import { toGrantedConnection } from './granted-connections.js';

/** Grants connections to workspaces. In none of them a caller has two for one header of one host. */
@Injectable()
export class ConnectionGrants {
  constructor(
    private readonly grants: GrantsStore,
    private readonly catalog: ProviderCatalog,
    private readonly topics: Topics,
    private readonly events: Events,
  ) {}

  /** Replaces the grants to workspaces that the caller sees. 409 where another connection there has the same place. */
  async replace(
    unit: UnitOfWork,
    actor: Actor,
    connection: ConnectionRow,
    grants: readonly GrantFields[],
  ): Promise<void> {
    const { id, organization_id, provider, name, state } = connection;
    const ids = grants.map(({ workspace_id }) => workspace_id);
    await this.requireNoConflict(unit, connection, ids);
    const before = await this.grants.workspacesOf(unit, id);
    await this.grants.replace(unit, id, actor, grants);
    await this.events.publish(unit, connectionGranted, { workspace_ids: [...new Set([...before, ...ids])] });
    // Whoever uses it looks again at what it may be used for.
    const changed = { connection_id: id, organization_id, provider, name, state };
    await this.events.publish(unit, connectionChanged, changed);
    await this.topics.publishOnCommit(unit, connectionTopic(id));
  }

  /** Looks at the grants again, after the connection may have got another host. 409 as for {@link replace}. */
  async recheck(unit: UnitOfWork, connection: ConnectionRow): Promise<void> {
    const workspace_ids = await this.grants.workspacesOf(unit, connection.id);
    await this.requireNoConflict(unit, connection, workspace_ids);
    await this.events.publish(unit, connectionGranted, { workspace_ids });
  }

  /** The error names the other connection: whoever manages the one may see both. */
  private async requireNoConflict(
    unit: UnitOfWork,
    connection: ConnectionRow,
    workspaceIds: readonly string[],
  ): Promise<void> {
    const own = await this.places(unit, connection);
    for (const workspaceId of [...workspaceIds].toSorted())
      for (const other of await this.grants.besides(unit, connection, workspaceId)) {
        const theirs = new Set((await this.places(unit, other)).map(nameOf));
        const same = own.find(place => theirs.has(nameOf(place)));
        if (same)
          throw new Conflict(
            `${other.name} is granted to the workspace ${workspaceId} and sends the header ${same.header} to ${same.host}, ` +
              'as this one would: take one of them away there first',
          );
      }
  }

  private async places(unit: UnitOfWork, row: ConnectionRow): Promise<CredentialPlace[]> {
    const definition = await this.catalog.find(row.organization_id, row.provider, unit);
    const none = { methods: [], paths: [], repositories: [], permissions: {}, workspace_id: '' };
    const granted: GrantedRow = { ...row, ...none };
    return definition ? listPlaces(toGrantedConnection(granted, definition)) : [];
  }
}
