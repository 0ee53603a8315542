import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { ProviderCatalog } from '../oauth/provider-catalog.js';
import type { ConnectionRow } from '../records/connections.store.js';
import { type GrantedRow, GrantsStore } from '../records/grants.store.js';
import { type CredentialPlace, nameOf, placesOf } from './credential-places.js';
import { grantedOf } from './granted-connections.js';

/** Keeps two connections of one caller from being the same header of the same host in a workspace. */
@Injectable()
export class GrantConflicts {
  constructor(
    private readonly grants: GrantsStore,
    private readonly catalog: ProviderCatalog,
  ) {}

  /** 409 with the other's name where there is one. Both may be seen by whoever manages the one. */
  async requireNone(
    unit: UnitOfWork,
    connection: ConnectionRow,
    workspaceIds: readonly string[],
  ): Promise<void> {
    const own = await this.placesOf(unit, connection);
    for (const workspaceId of [...workspaceIds].toSorted())
      for (const other of await this.grants.besides(unit, connection, workspaceId)) {
        const theirs = new Set((await this.placesOf(unit, other)).map(nameOf));
        const same = own.find(place => theirs.has(nameOf(place)));
        if (same)
          throw new Conflict(
            `${other.name} is granted to the workspace ${workspaceId} and sends the header ${same.header} to ${same.host}, ` +
              'as this one would: take one of them away there first',
          );
      }
  }

  private async placesOf(unit: UnitOfWork, row: ConnectionRow): Promise<CredentialPlace[]> {
    const definition = await this.catalog.find(row.organization_id, row.provider, unit);
    const granted: GrantedRow = {
      ...row,
      methods: [],
      paths: [],
      repositories: [],
      permissions: {},
      workspace_id: '',
    };
    return definition ? placesOf(grantedOf(granted, definition)) : [];
  }
}
