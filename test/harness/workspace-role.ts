import type { OrganizationRole, Visibility, WorkspaceRole } from '../../src/platform/access/index.js';

/** What decides a role in a workspace. */
export interface Standing {
  visibility: Visibility;
  creator: boolean;
  organization_role: OrganizationRole;
  workspace_role: WorkspaceRole | null;
}

/** The role that a member of an organization has in one of its workspaces; null: they do not see it. Written a second time. */
export function workspaceRole(standing: Standing): WorkspaceRole | null {
  const { visibility, creator, organization_role, workspace_role } = standing;
  if (creator) return 'admin';
  if (visibility === 'private') return null;
  if (organization_role === 'owner' || organization_role === 'admin') return 'admin';
  if (workspace_role) return workspace_role;
  return visibility === 'org' && organization_role === 'member' ? 'editor' : null;
}
