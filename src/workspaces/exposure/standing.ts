import {
  type Feature,
  roleAllows,
  type WorkspacePermission,
  type WorkspaceRole,
} from '../../platform/access/index.js';

/** Of a workspace and of somebody who gave others a way into it: what decides whether the way still stands. */
export interface GiverStanding {
  features_off: Feature[];
  giver_role: WorkspaceRole | null;
}

/** Whether they could still do themselves what they let others do, in a workspace where sharing is not turned off. */
export function mayStill(
  { features_off, giver_role }: GiverStanding,
  permission: WorkspacePermission,
): boolean {
  return !features_off.includes('sharing') && giver_role !== null && roleAllows(giver_role, permission);
}
