import {
  type Feature,
  type OrganizationRole,
  roleAllows,
  type Visibility,
  type WorkspacePermission,
  type WorkspaceRole,
  workspaceRole,
} from '../../platform/access/index.js';

/** Of a workspace and of somebody who gave others a way into it: what decides whether the way still stands. */
export interface GiverStanding {
  features_off: Feature[];
  visibility: Visibility;
  workspace_created_by: string;
  giver_organization_role: OrganizationRole | null;
  giver_workspace_role: WorkspaceRole | null;
}

/** Whether they could still do themselves what they let others do, in a workspace where sharing is not turned off. */
export function mayStill(giverId: string, row: GiverStanding, permission: WorkspacePermission): boolean {
  if (row.features_off.includes('sharing')) return false;
  if (!row.giver_organization_role) return false;
  const role = workspaceRole(giverId, {
    visibility: row.visibility,
    created_by: row.workspace_created_by,
    organization_role: row.giver_organization_role,
    workspace_role: row.giver_workspace_role,
  });
  return role !== null && roleAllows(role, permission);
}
