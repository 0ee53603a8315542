import { Forbidden } from '../errors/index.js';
import type { Actor } from './actor.js';

/** Roles of an organization, highest first. */
export const ORGANIZATION_ROLES = ['owner', 'admin', 'member', 'guest'] as const;
export type OrganizationRole = (typeof ORGANIZATION_ROLES)[number];

/** Roles in a workspace, highest first. */
export const WORKSPACE_ROLES = ['admin', 'editor', 'viewer'] as const;
export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number];

export const VISIBILITIES = ['org', 'restricted', 'private'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/** What the admins of a workspace can turn off and on there. All are on in the beginning. */
export const FEATURES = ['agents', 'mcp', 'sandbox', 'sharing'] as const;
export type Feature = (typeof FEATURES)[number];

interface Rule<Role> {
  /** The least role that may. */
  readonly least: Role;
  /** What a scoped key must hold. */
  readonly scope: string;
}

interface WorkspaceRule extends Rule<WorkspaceRole> {
  /** What has to be on in the workspace. */
  readonly feature?: Feature;
}

/** Who may do what to an organization. */
export const ORGANIZATION_POLICY = {
  'organization.read': { least: 'guest', scope: 'organizations:read' },
  'organization.update': { least: 'admin', scope: 'organizations:write' },
  'organization.delete': { least: 'owner', scope: 'organizations:write' },
  'audit.read': { least: 'admin', scope: 'audit:read' },
  'member.list': { least: 'member', scope: 'members:read' },
  'member.manage': { least: 'admin', scope: 'members:write' },
  'organization.leave': { least: 'guest', scope: 'members:write' },
  'organization.transfer': { least: 'owner', scope: 'members:write' },
  'invitation.manage': { least: 'admin', scope: 'members:write' },
  'service_account.read': { least: 'admin', scope: 'service_accounts:read' },
  'service_account.manage': { least: 'admin', scope: 'service_accounts:write' },
  'model.configure': { least: 'admin', scope: 'models:write' },
  'billing.read': { least: 'admin', scope: 'billing:read' },
  'billing.update': { least: 'admin', scope: 'billing:write' },
  'workspace.create': { least: 'member', scope: 'workspaces:write' },
  'exposure.list': { least: 'guest', scope: 'shares:read' },
  'exposure.manage': { least: 'admin', scope: 'shares:write' },
} as const satisfies Record<string, Rule<OrganizationRole>>;

/** Who may do what in a workspace. */
export const WORKSPACE_POLICY = {
  'workspace.read': { least: 'viewer', scope: 'workspaces:read' },
  'workspace.update': { least: 'admin', scope: 'workspaces:write' },
  'workspace.delete': { least: 'admin', scope: 'workspaces:write' },
  'workspace.members': { least: 'admin', scope: 'members:write' },
  'budget.read': { least: 'viewer', scope: 'billing:read' },
  'budget.update': { least: 'admin', scope: 'billing:write' },
  'file.read': { least: 'viewer', scope: 'files:read' },
  'file.write': { least: 'editor', scope: 'files:write' },
  'share.read': { least: 'viewer', scope: 'shares:read' },
  'share.manage': { least: 'editor', scope: 'shares:write', feature: 'sharing' },
  'share.revoke': { least: 'editor', scope: 'shares:write' },
  'code.run': { least: 'editor', scope: 'code:run', feature: 'sandbox' },
  'sandbox.end': { least: 'editor', scope: 'code:run' },
  'chat.read': { least: 'viewer', scope: 'chats:read' },
  'chat.write': { least: 'editor', scope: 'chats:write' },
  'agent.run': { least: 'editor', scope: 'agent:run', feature: 'agents' },
  'agent.stop': { least: 'editor', scope: 'agent:run' },
  'approval.read': { least: 'viewer', scope: 'approvals:read' },
  'approval.decide': { least: 'editor', scope: 'approvals:write' },
} as const satisfies Record<string, WorkspaceRule>;

/** What touches the caller's own account only: no role, but a scope for keys. */
export const ACCOUNT_POLICY = {
  'account.read': { scope: 'account:read' },
  'account.update': { scope: 'account:write' },
  'key.read': { scope: 'keys:read' },
  'key.write': { scope: 'keys:write' },
  'grant.read': { scope: 'grants:read' },
  'grant.revoke': { scope: 'grants:write' },
  'organization.list': { scope: 'organizations:read' },
  'organization.create': { scope: 'organizations:write' },
  'workspace.list': { scope: 'workspaces:read' },
  'model.list': { scope: 'models:read' },
  'action.read': { scope: 'actions:read' },
  'action.run': { scope: 'actions:run' },
  'action_run.read': { scope: 'actions:read' },
} as const satisfies Record<string, { scope: string }>;

export type OrganizationPermission = keyof typeof ORGANIZATION_POLICY;
export type WorkspacePermission = keyof typeof WORKSPACE_POLICY;
export type AccountPermission = keyof typeof ACCOUNT_POLICY;
export type Permission = OrganizationPermission | WorkspacePermission | AccountPermission;

const POLICY: Record<Permission, { scope: string }> = {
  ...ORGANIZATION_POLICY,
  ...WORKSPACE_POLICY,
  ...ACCOUNT_POLICY,
};

/** Every scope that a key can be limited to, sorted. */
export const SCOPES: readonly string[] = [...new Set(Object.values(POLICY).map(rule => rule.scope))].sort();

/** What a scoped key must hold to use a permission. */
export const scopeOf = (permission: Permission): string => POLICY[permission].scope;

/** Whether the permission is one in a workspace, decided by the role there. */
export const isWorkspacePermission = (permission: Permission | null): permission is WorkspacePermission =>
  permission !== null && Object.hasOwn(WORKSPACE_POLICY, permission);

/** Whether the permission is one in an organization, decided by the role there. */
export const isOrganizationPermission = (
  permission: Permission | null,
): permission is OrganizationPermission =>
  permission !== null && Object.hasOwn(ORGANIZATION_POLICY, permission);

const atLeast = <R extends string>(ranking: readonly R[], role: R, least: R) =>
  ranking.indexOf(role) <= ranking.indexOf(least);

/** Refuses a key that lacks the permission's scope (403). */
export function requireScope(actor: Actor, permission: Permission): void {
  const { scopes } = actor.credential;
  const { scope } = POLICY[permission];
  if (scopes && !scopes.includes(scope)) throw new Forbidden(`This key lacks the scope ${scope}`);
}

/**
 * Whether a credential reaches so far: one that is limited to some workspaces reads of an organization what concerns them,
 * and changes nothing that others share.
 */
export const reaches = ({ credential }: Actor, permission: Permission | null): boolean =>
  credential.workspace_ids === null ||
  !isOrganizationPermission(permission) ||
  scopeOf(permission).endsWith(':read');

/** Refuses a credential that does not reach so far (403). */
export function requireReach(actor: Actor, permission: OrganizationPermission): void {
  if (!reaches(actor, permission))
    throw new Forbidden(
      'A key limited to some workspaces acts in those alone; this changes the organization',
    );
}

/** Refuses to give, or to act on, a role above one's own (403). */
export function requireNotAbove(own: OrganizationRole, role: OrganizationRole): void {
  if (!atLeast(ORGANIZATION_ROLES, own, role))
    throw new Forbidden(`The role ${role} is above yours, which is ${own}`);
}

/** Refuses a role that is too low for the permission (403). */
export function requireOrganizationRole(role: OrganizationRole, permission: OrganizationPermission): void {
  const { least } = ORGANIZATION_POLICY[permission];
  if (!atLeast(ORGANIZATION_ROLES, role, least))
    throw new Forbidden(`This takes the role ${least} in the organization; yours is ${role}`);
}

/** Refuses a role that is too low for the permission (403). */
export function requireWorkspaceRole(role: WorkspaceRole, permission: WorkspacePermission): void {
  const { least } = WORKSPACE_POLICY[permission];
  if (!roleAllows(role, permission))
    throw new Forbidden(`This takes the role ${least} in the workspace; yours is ${role}`);
}

/** What a caller has in a workspace: a role, and which of its features are turned off. */
export interface WorkspaceAccess {
  readonly role: WorkspaceRole;
  readonly features_off: readonly Feature[];
}

/** Refuses what the credential, the role or the features of the workspace do not allow (403). */
export function requireInWorkspace(
  actor: Actor,
  permission: WorkspacePermission,
  { role, features_off }: WorkspaceAccess,
): void {
  requireScope(actor, permission);
  requireWorkspaceRole(role, permission);
  requireReachable(actor, features_off);
  const feature = featureOf(permission);
  if (feature) requireFeature(features_off, feature);
}

/** Refuses a way into the workspace that is turned off there (403). */
export function requireReachable({ surface }: Actor, featuresOff: readonly Feature[]): void {
  if (surface) requireFeature(featuresOff, surface);
}

function requireFeature(featuresOff: readonly Feature[], feature: Feature): void {
  if (featuresOff.includes(feature))
    throw new Forbidden(
      `The feature ${feature} is turned off in this workspace; an admin of the workspace can turn it on`,
    );
}

const featureOf = (permission: WorkspacePermission): Feature | undefined =>
  (WORKSPACE_POLICY as Record<WorkspacePermission, WorkspaceRule>)[permission].feature;

/** Whether what a caller has in a workspace is enough for the permission. */
export function accessAllows(
  { role, features_off }: WorkspaceAccess,
  permission: WorkspacePermission,
): boolean {
  const feature = featureOf(permission);
  return roleAllows(role, permission) && !(feature && features_off.includes(feature));
}

/** Whether a role in a workspace is enough for the permission. */
export const roleAllows = (role: WorkspaceRole, permission: WorkspacePermission): boolean =>
  atLeast(WORKSPACE_ROLES, role, WORKSPACE_POLICY[permission].least);

/** Whether a role in an organization is enough for the permission. */
export const organizationRoleAllows = (role: OrganizationRole, permission: OrganizationPermission): boolean =>
  atLeast(ORGANIZATION_ROLES, role, ORGANIZATION_POLICY[permission].least);

/** What decides a caller's role in a workspace. */
export interface WorkspaceStanding {
  readonly visibility: Visibility;
  readonly created_by: string;
  readonly organization_role: OrganizationRole;
  readonly workspace_role: WorkspaceRole | null;
}

/**
 * The caller's role in a workspace, null when it is not visible to them. `private`: its creator alone; `restricted`:
 * those added, and the organization's admins; `org`: also every member of the organization but guests, as editors.
 */
export function workspaceRole(actorId: string, standing: WorkspaceStanding): WorkspaceRole | null {
  const { visibility, created_by, organization_role, workspace_role } = standing;
  if (created_by === actorId) return 'admin';
  if (visibility === 'private') return null;
  if (atLeast(ORGANIZATION_ROLES, organization_role, 'admin')) return 'admin';
  if (workspace_role) return workspace_role;
  return visibility === 'org' && organization_role !== 'guest' ? 'editor' : null;
}
