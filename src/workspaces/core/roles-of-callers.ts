import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type Actor,
  type OrganizationRole,
  organizationsOf,
  type WorkspaceAccess,
  workspacesOf,
} from '../../platform/access/index.js';
import { CallerRoles, type Roles } from '../../platform/actions/index.js';
import { Database } from '../../platform/database/index.js';
import { WorkspacesStore } from './workspaces.store.js';

/** Tells who lists actions which roles the caller has. */
@Injectable()
export class RolesOfCallers implements OnModuleInit {
  constructor(
    private readonly roles: CallerRoles,
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
  ) {}

  onModuleInit(): void {
    this.roles.askedOf((actor, workspaceId) =>
      workspaceId === null ? this.anywhere(actor) : this.within(actor, workspaceId),
    );
  }

  private async within(actor: Actor, workspaceId: string): Promise<Roles> {
    const { credential } = actor;
    const onlooker = { ...actor, credential: { ...credential, scopes: null } };
    return {
      organization: [],
      workspace: [await this.workspaces.require(onlooker, 'workspace.read', workspaceId)],
    };
  }

  /** Each combination once, however many workspaces have it. */
  private async anywhere(actor: Actor): Promise<Roles> {
    const tables = this.database.tables();
    const [organizations, workspaces] = await Promise.all([
      sql<{ role: OrganizationRole }>`select distinct role from ${organizationsOf(actor)} o`.execute(tables),
      sql<WorkspaceAccess>`
        select distinct role, features_off from ${workspacesOf(actor)} w where role is not null`.execute(
        tables,
      ),
    ]);
    return { organization: organizations.rows.map(({ role }) => role), workspace: workspaces.rows };
  }
}
