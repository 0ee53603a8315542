import { Injectable } from '@nestjs/common';
import {
  type Actor,
  accessAllows,
  type Effect,
  isOrganizationPermission,
  isWorkspacePermission,
  organizationRoleAllows,
  type Permission,
  reaches,
  scopeOf,
} from '../access/index.js';
import { type ActionDeclaration, declarationFor, permissionToRun } from './action.js';
import type { ActionCaller } from './action-caller.js';
import { ActionCatalog } from './action-catalog.js';
import { CallerRoles, Roles } from './caller-roles.js';
import type { CatalogAction } from './catalog-action.js';

/** Whether any of the roles has the permission; one that takes no role always is. */
export function anyAllows({ organization, workspace }: Roles, permission: Permission | null): boolean {
  if (isWorkspacePermission(permission)) return workspace.some(access => accessAllows(access, permission));
  if (isOrganizationPermission(permission))
    return organization.some(role => organizationRoleAllows(role, permission));
  return true;
}

export interface ActionQuery {
  readonly q?: string;
  readonly effect?: Effect;
  /** Only what changes nothing. */
  readonly readonly?: boolean;
  /** Only what is in this workspace. */
  readonly workspaceId?: string;
}

/** Lists actions to those who could run them. */
@Injectable()
export class ActionListing {
  constructor(
    private readonly catalog: ActionCatalog,
    private readonly roles: CallerRoles,
  ) {}

  /**
   * The actions that suit a question and that the caller could run, the best match first: as far as its kind, its
   * allowlist and its scopes go, and its role in the workspace; where none is meant, its role in any.
   */
  async of(caller: ActionCaller, query: ActionQuery): Promise<CatalogAction[]> {
    const { q, effect, readonly, workspaceId } = query;
    const { actor } = caller;
    const place = caller.workspaceId ?? workspaceId ?? null;
    const roles = await this.roles.of(actor, place);
    return this.catalog.find(q).filter(({ declaration }) => {
      if (effect !== undefined && declaration.effect !== effect) return false;
      if (readonly && declaration.effect !== 'read') return false;
      if (place !== null && !isWorkspacePermission(declaration.permission)) return false;
      return (
        caller.objection(declarationFor(declaration)) === undefined &&
        reaches(actor, declaration.permission) &&
        hasScopes(actor, declaration, caller.isProgram) &&
        anyAllows(roles, declaration.permission)
      );
    });
  }
}

/** Whether the credential holds what the action takes, and what running actions takes. */
function hasScopes(
  { credential: { scopes } }: Actor,
  { permission, effect }: ActionDeclaration,
  isProgram: boolean,
) {
  if (scopes === null) return true;
  const needed = [permission, isProgram ? null : permissionToRun(effect)];
  return needed.every(each => each === null || scopes.includes(scopeOf(each)));
}
