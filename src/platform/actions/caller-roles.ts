import { Injectable } from '@nestjs/common';
import {
  type Actor,
  accessAllows,
  isOrganizationPermission,
  isWorkspacePermission,
  type OrganizationRole,
  organizationRoleAllows,
  type Permission,
  type WorkspaceAccess,
} from '../access/index.js';

/** The roles that a caller has: in all of their organizations and workspaces, or in one workspace. */
export interface Roles {
  readonly organization: readonly OrganizationRole[];
  readonly workspace: readonly WorkspaceAccess[];
}

type Source = (actor: Actor, workspaceId: string | null) => Promise<Roles>;

/** Which roles a caller has. A port: who knows the roles registers. */
@Injectable()
export class CallerRoles {
  private source: Source = async () => ({ organization: [], workspace: [] });

  /** Called while modules start. */
  askedOf(source: Source): void {
    this.source = source;
  }

  /** null: wherever the caller has any. 404 for a workspace that they do not see. */
  of(actor: Actor, workspaceId: string | null): Promise<Roles> {
    return this.source(actor, workspaceId);
  }
}

/** Whether any of the roles has the permission; one that takes no role always is. */
export function anyAllows({ organization, workspace }: Roles, permission: Permission | null): boolean {
  if (isWorkspacePermission(permission)) return workspace.some(access => accessAllows(access, permission));
  if (isOrganizationPermission(permission))
    return organization.some(role => organizationRoleAllows(role, permission));
  return true;
}
