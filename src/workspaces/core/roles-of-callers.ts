import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type Actor,
  type Feature,
  type OrganizationRole,
  type Visibility,
  type WorkspaceRole,
  workspaceRole,
} from '../../platform/access/index.js';
import { CallerRoles, type Roles } from '../../platform/actions/index.js';
import { Database } from '../../platform/database/index.js';
import { WorkspacesStore } from './workspaces.store.js';

/** What decides a role; each combination once, however many workspaces have it. */
interface Standing {
  own: boolean | null;
  visibility: Visibility | null;
  organization_role: OrganizationRole;
  workspace_role: WorkspaceRole | null;
  features_off: Feature[] | null;
}

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

  private async anywhere({ id, credential }: Actor): Promise<Roles> {
    const { organization_id, workspace_ids } = credential;
    const only = workspace_ids ? [...workspace_ids] : null;
    const { rows } = await sql<Standing>`
      select distinct w.created_by = ${id} as own, w.visibility, m.role as organization_role, wm.role as workspace_role,
        w.features_off
      from membership m
      left join workspace w on w.organization_id = m.organization_id and (${only}::uuid[] is null or w.id = any(${only}::uuid[]))
      left join workspace_member wm on wm.workspace_id = w.id and wm.principal_id = m.principal_id
      where m.principal_id = ${id} and (${organization_id}::uuid is null or m.organization_id = ${organization_id})`.execute(
      this.database.tables(),
    );
    const workspace = rows.flatMap(({ own, visibility, features_off, ...roles }) => {
      if (visibility === null) return [];
      const role = workspaceRole(id, { ...roles, visibility, created_by: own ? id : '' });
      return role ? [{ role, features_off: features_off ?? [] }] : [];
    });
    return { organization: rows.map(({ organization_role }) => organization_role), workspace };
  }
}
