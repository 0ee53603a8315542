import { Forbidden } from '../errors/index.js';
import type { Actor } from './access.js';

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

/**
 * What a capability does to the world, in rising order. `expose` opens something to others, grants rights or loosens a
 * guard, and comes before all else: what exposes and also writes is `expose`. Closing and taking back is not.
 */
export const EFFECTS = ['read', 'write', 'destructive', 'expose'] as const;
export type Effect = (typeof EFFECTS)[number];

interface Rule {
  /** What the permission is about, and so whose role decides; `account`: the caller's own, which takes no role. */
  readonly on: 'organization' | 'workspace' | 'account';
  /** The lowest role that has it. */
  readonly least?: OrganizationRole | WorkspaceRole;
  /** What a scoped credential must hold. */
  readonly scope: string;
  /** The most that an action with this permission does. */
  readonly effect: Effect;
  /** What must be turned on in the workspace. */
  readonly feature?: Feature;
}

/** Who may do what. */
export const POLICY = {
  'organization.read': { on: 'organization', least: 'guest', scope: 'organizations:read', effect: 'read' },
  'organization.update': {
    on: 'organization',
    least: 'admin',
    scope: 'organizations:write',
    effect: 'write',
  },
  'organization.delete': {
    on: 'organization',
    least: 'owner',
    scope: 'organizations:write',
    effect: 'destructive',
  },
  'audit.read': { on: 'organization', least: 'admin', scope: 'audit:read', effect: 'read' },
  'member.list': { on: 'organization', least: 'member', scope: 'members:read', effect: 'read' },
  'member.manage': { on: 'organization', least: 'admin', scope: 'members:write', effect: 'expose' },
  'organization.leave': { on: 'organization', least: 'guest', scope: 'members:write', effect: 'destructive' },
  'organization.transfer': { on: 'organization', least: 'owner', scope: 'members:write', effect: 'expose' },
  'invitation.manage': { on: 'organization', least: 'admin', scope: 'members:write', effect: 'expose' },
  'service_account.read': {
    on: 'organization',
    least: 'admin',
    scope: 'service_accounts:read',
    effect: 'read',
  },
  'service_account.manage': {
    on: 'organization',
    least: 'admin',
    scope: 'service_accounts:write',
    effect: 'expose',
  },
  'model.configure': { on: 'organization', least: 'admin', scope: 'models:write', effect: 'expose' },
  'billing.read': { on: 'organization', least: 'admin', scope: 'billing:read', effect: 'read' },
  'billing.update': { on: 'organization', least: 'admin', scope: 'billing:write', effect: 'expose' },
  'workspace.create': { on: 'organization', least: 'member', scope: 'workspaces:write', effect: 'write' },
  'exposure.list': { on: 'organization', least: 'guest', scope: 'shares:read', effect: 'read' },
  'exposure.manage': { on: 'organization', least: 'admin', scope: 'shares:write', effect: 'destructive' },
  'workspace.read': { on: 'workspace', least: 'viewer', scope: 'workspaces:read', effect: 'read' },
  'workspace.update': { on: 'workspace', least: 'admin', scope: 'workspaces:write', effect: 'expose' },
  'workspace.delete': { on: 'workspace', least: 'admin', scope: 'workspaces:write', effect: 'destructive' },
  'workspace.members': { on: 'workspace', least: 'admin', scope: 'members:write', effect: 'expose' },
  'budget.read': { on: 'workspace', least: 'viewer', scope: 'billing:read', effect: 'read' },
  'budget.update': { on: 'workspace', least: 'admin', scope: 'billing:write', effect: 'expose' },
  'file.read': { on: 'workspace', least: 'viewer', scope: 'files:read', effect: 'read' },
  'file.write': { on: 'workspace', least: 'editor', scope: 'files:write', effect: 'destructive' },
  'share.read': { on: 'workspace', least: 'viewer', scope: 'shares:read', effect: 'read' },
  'share.manage': {
    on: 'workspace',
    least: 'editor',
    scope: 'shares:write',
    effect: 'expose',
    feature: 'sharing',
  },
  'share.revoke': { on: 'workspace', least: 'editor', scope: 'shares:write', effect: 'destructive' },
  'code.run': { on: 'workspace', least: 'editor', scope: 'code:run', effect: 'write', feature: 'sandbox' },
  'sandbox.end': { on: 'workspace', least: 'editor', scope: 'code:run', effect: 'destructive' },
  'chat.read': { on: 'workspace', least: 'viewer', scope: 'chats:read', effect: 'read' },
  'chat.write': { on: 'workspace', least: 'editor', scope: 'chats:write', effect: 'destructive' },
  'agent.run': { on: 'workspace', least: 'editor', scope: 'agent:run', effect: 'write', feature: 'agents' },
  'agent.stop': { on: 'workspace', least: 'editor', scope: 'agent:run', effect: 'destructive' },
  'approval.read': { on: 'workspace', least: 'viewer', scope: 'approvals:read', effect: 'read' },
  'approval.decide': { on: 'workspace', least: 'editor', scope: 'approvals:write', effect: 'expose' },
  'account.read': { on: 'account', scope: 'account:read', effect: 'read' },
  'account.update': { on: 'account', scope: 'account:write', effect: 'write' },
  'key.read': { on: 'account', scope: 'keys:read', effect: 'read' },
  'key.write': { on: 'account', scope: 'keys:write', effect: 'expose' },
  'grant.read': { on: 'account', scope: 'grants:read', effect: 'read' },
  'grant.revoke': { on: 'account', scope: 'grants:write', effect: 'destructive' },
  'notification.read': { on: 'account', scope: 'notifications:read', effect: 'read' },
  'notification.write': { on: 'account', scope: 'notifications:write', effect: 'write' },
  'organization.list': { on: 'account', scope: 'organizations:read', effect: 'read' },
  'organization.create': { on: 'account', scope: 'organizations:write', effect: 'write' },
  'workspace.list': { on: 'account', scope: 'workspaces:read', effect: 'read' },
  'model.list': { on: 'account', scope: 'models:read', effect: 'read' },
  'action.read': { on: 'account', scope: 'actions:read', effect: 'read' },
  'action.run': { on: 'account', scope: 'actions:run', effect: 'write' },
  'action_run.read': { on: 'account', scope: 'actions:read', effect: 'read' },
} as const satisfies Record<string, Rule>;

export type Permission = keyof typeof POLICY;
type PermissionOn<On> = {
  [P in Permission]: (typeof POLICY)[P] extends { on: On } ? P : never;
}[Permission];
export type OrganizationPermission = PermissionOn<'organization'>;
export type WorkspacePermission = PermissionOn<'workspace'>;

const RULES: Record<Permission, Rule> = POLICY;

/** The permissions about one kind of thing. */
export const permissionsOn = <On extends Rule['on']>(on: On): PermissionOn<On>[] =>
  (Object.keys(POLICY) as Permission[]).filter(
    (permission): permission is PermissionOn<On> => RULES[permission].on === on,
  );

/** Every scope that a key can be limited to, sorted. */
export const SCOPES: readonly string[] = [...new Set(Object.values(RULES).map(({ scope }) => scope))].sort();

/** Those that change nothing. */
export const READ_SCOPES: readonly string[] = SCOPES.filter(scope =>
  Object.values(RULES).every(rule => rule.scope !== scope || rule.effect === 'read'),
);

/** What a scoped key must hold to use a permission. */
export const scopeOf = (permission: Permission): string => RULES[permission].scope;

/** Whether the permission is one in a workspace, decided by the role there. */
export const isWorkspacePermission = (permission: Permission | null): permission is WorkspacePermission =>
  permission !== null && RULES[permission].on === 'workspace';

/** Whether the permission is one in an organization, decided by the role there. */
export const isOrganizationPermission = (
  permission: Permission | null,
): permission is OrganizationPermission => permission !== null && RULES[permission].on === 'organization';

const atLeast = <R extends string>(ranking: readonly R[], role: R, least: R) =>
  ranking.indexOf(role) <= ranking.indexOf(least);

/** Refuses a key that lacks the permission's scope (403). */
export function requireScope(actor: Actor, permission: Permission): void {
  const { scopes } = actor.credential;
  const scope = scopeOf(permission);
  if (scopes && !scopes.includes(scope)) throw new Forbidden(`This key lacks the scope ${scope}`);
}

/**
 * Whether a credential reaches so far: one that is limited to some workspaces reads of an organization what concerns them,
 * and changes nothing that others share.
 */
export const reaches = ({ credential }: Actor, permission: Permission | null): boolean =>
  credential.workspace_ids === null ||
  !isOrganizationPermission(permission) ||
  POLICY[permission].effect === 'read';

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
    throw new Forbidden(`The ${role} role is above yours; you are ${withArticle(own)}`);
}

/** Refuses a role that is too low for the permission (403). */
export function requireOrganizationRole(role: OrganizationRole, permission: OrganizationPermission): void {
  if (!organizationRoleAllows(role, permission)) throw tooLow(POLICY[permission].least, role);
}

/** Refuses a role that is too low for the permission (403). */
export function requireWorkspaceRole(role: WorkspaceRole, permission: WorkspacePermission): void {
  if (!roleAllows(role, permission)) throw tooLow(POLICY[permission].least, role, ' in this workspace');
}

const tooLow = (least: string, role: string, where = ''): Forbidden =>
  new Forbidden(`Requires the ${least} role${where}; you are ${withArticle(role)}`);

const withArticle = (role: string): string => `${/^[aeo]/.test(role) ? 'an' : 'a'} ${role}`;

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

const featureOf = (permission: WorkspacePermission): Feature | undefined => RULES[permission].feature;

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
  atLeast(WORKSPACE_ROLES, role, POLICY[permission].least);

/** The roles in a workspace that have a permission. */
export const rolesWith = (permission: WorkspacePermission): WorkspaceRole[] =>
  WORKSPACE_ROLES.filter(role => roleAllows(role, permission));

/** Whether a role in an organization is enough for the permission. */
export const organizationRoleAllows = (role: OrganizationRole, permission: OrganizationPermission): boolean =>
  atLeast(ORGANIZATION_ROLES, role, POLICY[permission].least);
