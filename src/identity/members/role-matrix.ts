import {
  ORGANIZATION_POLICY,
  ORGANIZATION_ROLES,
  WORKSPACE_POLICY,
  WORKSPACE_ROLES,
} from '../../platform/access/index.js';
import type { RolesView, RuleView } from './members.dto.js';

/** The policy table as people read it: each permission with the roles that have it. */
export function roleMatrix(): RolesView {
  return {
    organization_roles: [...ORGANIZATION_ROLES],
    workspace_roles: [...WORKSPACE_ROLES],
    organization: rules(ORGANIZATION_POLICY, ORGANIZATION_ROLES),
    workspace: rules(WORKSPACE_POLICY, WORKSPACE_ROLES),
  };
}

function rules<R extends string>(
  policy: Record<string, { least: R; scope: string }>,
  ranking: readonly R[],
): RuleView[] {
  return Object.entries(policy).map(([permission, { least, scope }]) => ({
    permission,
    scope,
    roles: ranking.slice(0, ranking.indexOf(least) + 1),
  }));
}
