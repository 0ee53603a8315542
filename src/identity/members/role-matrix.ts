import {
  ORGANIZATION_ROLES,
  type OrganizationPermission,
  POLICY,
  permissionsOn,
  WORKSPACE_ROLES,
  type WorkspacePermission,
} from '../../platform/access/index.js';
import type { RolesView, RuleView } from './members.dto.js';

/** The policy table as people read it: each permission with the roles that have it. */
export function roleMatrix(): RolesView {
  return {
    organization_roles: [...ORGANIZATION_ROLES],
    workspace_roles: [...WORKSPACE_ROLES],
    organization: rules(permissionsOn('organization'), ORGANIZATION_ROLES),
    workspace: rules(permissionsOn('workspace'), WORKSPACE_ROLES),
  };
}

function rules(
  permissions: readonly (OrganizationPermission | WorkspacePermission)[],
  ranking: readonly string[],
): RuleView[] {
  return permissions.map(permission => {
    const { scope, least } = POLICY[permission];
    return { permission, scope, roles: ranking.slice(0, ranking.indexOf(least) + 1) };
  });
}
