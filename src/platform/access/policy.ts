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

const organization = (least: OrganizationRole, scope: string, effect: Effect) =>
  ({ on: 'organization', least, scope, effect }) as const;
const workspace = (least: WorkspaceRole, scope: string, effect: Effect, feature?: Feature) =>
  ({ on: 'workspace', least, scope, effect, feature }) as const;
const account = (scope: string, effect: Effect) => ({ on: 'account', scope, effect }) as const;

/** Who may do what. */
export const POLICY = {
  'organization.read': organization('guest', 'organizations:read', 'read'),
  'organization.update': organization('admin', 'organizations:write', 'write'),
  'organization.delete': organization('owner', 'organizations:write', 'destructive'),
  'audit.read': organization('admin', 'audit:read', 'read'),
  'member.list': organization('member', 'members:read', 'read'),
  'member.manage': organization('admin', 'members:write', 'expose'),
  'organization.leave': organization('guest', 'members:write', 'destructive'),
  'organization.transfer': organization('owner', 'members:write', 'expose'),
  'invitation.manage': organization('admin', 'members:write', 'expose'),
  'service_account.read': organization('admin', 'service_accounts:read', 'read'),
  'service_account.manage': organization('admin', 'service_accounts:write', 'expose'),
  'model.configure': organization('admin', 'models:write', 'expose'),
  'agent.instruct': organization('admin', 'agents:write', 'expose'),
  'billing.read': organization('admin', 'billing:read', 'read'),
  'billing.update': organization('admin', 'billing:write', 'expose'),
  'webhook.read': organization('admin', 'notifications:read', 'read'),
  'webhook.manage': organization('admin', 'notifications:write', 'expose'),
  'template.delete': organization('admin', 'templates:write', 'destructive'),
  'template.update': organization('admin', 'templates:write', 'expose'),
  // Those of the organization are managed by its admins (provider.configure), personal ones by their owners.
  'connection.read': organization('member', 'connections:read', 'read'),
  'connection.manage': organization('member', 'connections:write', 'expose'),
  'connection.delete': organization('member', 'connections:write', 'destructive'),
  'provider.configure': organization('admin', 'connections:write', 'expose'),
  'exposure.limit': organization('admin', 'shares:write', 'expose'),
  'workspace.create': organization('member', 'workspaces:write', 'write'),
  'exposure.list': organization('guest', 'shares:read', 'read'),
  'exposure.manage': organization('admin', 'shares:write', 'destructive'),
  'workspace.read': workspace('viewer', 'workspaces:read', 'read'),
  'workspace.update': workspace('admin', 'workspaces:write', 'expose'),
  'workspace.delete': workspace('admin', 'workspaces:write', 'destructive'),
  'workspace.members': workspace('admin', 'members:write', 'expose'),
  'budget.read': workspace('viewer', 'billing:read', 'read'),
  'budget.update': workspace('admin', 'billing:write', 'expose'),
  'file.read': workspace('viewer', 'files:read', 'read'),
  'file.write': workspace('editor', 'files:write', 'destructive'),
  'share.read': workspace('viewer', 'shares:read', 'read'),
  'share.manage': workspace('editor', 'shares:write', 'expose', 'sharing'),
  'share.revoke': workspace('editor', 'shares:write', 'destructive'),
  'template.publish': workspace('admin', 'templates:write', 'expose'),
  'form.read': workspace('viewer', 'forms:read', 'read'),
  'form.share': workspace('editor', 'forms:write', 'expose', 'sharing'),
  'form.manage': workspace('editor', 'forms:write', 'destructive'),
  'site.read': workspace('viewer', 'sites:read', 'read'),
  'site.publish': workspace('editor', 'sites:write', 'destructive'),
  'hosting.access': workspace('editor', 'sites:write', 'expose'),
  'tunnel.read': workspace('viewer', 'servers:read', 'read'),
  'tunnel.run': workspace('editor', 'servers:write', 'write', 'sandbox'),
  'tunnel.manage': workspace('editor', 'servers:write', 'destructive'),
  'tunnel.access': workspace('editor', 'servers:write', 'expose'),
  'code.run': workspace('editor', 'code:run', 'write', 'sandbox'),
  'sandbox.end': workspace('editor', 'code:run', 'destructive'),
  'chat.read': workspace('viewer', 'chats:read', 'read'),
  'chat.write': workspace('editor', 'chats:write', 'destructive'),
  'agent.run': workspace('editor', 'agent:run', 'write', 'agents'),
  'agent.stop': workspace('editor', 'agent:run', 'destructive'),
  'approval.read': workspace('viewer', 'approvals:read', 'read'),
  'approval.decide': workspace('editor', 'approvals:write', 'expose'),
  'loop.read': workspace('viewer', 'loops:read', 'read'),
  'loop.run': workspace('editor', 'loops:write', 'write'),
  'connection.use': workspace('editor', 'connections:write', 'destructive'),
  'git.read': workspace('viewer', 'git:read', 'read', 'sandbox'),
  'git.write': workspace('editor', 'git:write', 'destructive', 'sandbox'),
  'git.push': workspace('editor', 'git:write', 'expose', 'sandbox'),
  'automation.read': workspace('viewer', 'automations:read', 'read'),
  'automation.run': workspace('editor', 'automations:run', 'write'),
  'automation.manage': workspace('editor', 'automations:write', 'destructive'),
  'automation.deploy': workspace('editor', 'automations:write', 'expose'),
  'account.read': account('account:read', 'read'),
  'account.update': account('account:write', 'write'),
  'key.read': account('keys:read', 'read'),
  'key.write': account('keys:write', 'expose'),
  'grant.read': account('grants:read', 'read'),
  'grant.revoke': account('grants:write', 'destructive'),
  'organization.list': account('organizations:read', 'read'),
  'organization.create': account('organizations:write', 'write'),
  'workspace.list': account('workspaces:read', 'read'),
  'template.read': account('templates:read', 'read'),
  'model.list': account('models:read', 'read'),
  'action.read': account('actions:read', 'read'),
  'action.run': account('actions:run', 'write'),
  'action_run.read': account('actions:read', 'read'),
  'notification.read': account('notifications:read', 'read'),
  'notification.write': account('notifications:write', 'write'),
  'preference.read': account('notifications:read', 'read'),
  'preference.update': account('notifications:write', 'write'),
} satisfies Record<string, Rule>;

export type Permission = keyof typeof POLICY;
type PermissionOn<On> = {
  [P in Permission]: (typeof POLICY)[P] extends { on: On } ? P : never;
}[Permission];
export type OrganizationPermission = PermissionOn<'organization'>;
export type WorkspacePermission = PermissionOn<'workspace'>;

const RULES: Record<Permission, Rule> = POLICY;

/**
 * Permissions beyond a workspace that credentials limited to some workspaces keep: their answers hold only what these
 * workspaces show. All others on an organization or an account are refused to such credentials.
 */
const WITHIN_WORKSPACES: readonly Permission[] = [
  'organization.list',
  'organization.read',
  'workspace.list',
  'account.read',
  'audit.read',
  'billing.read',
  'connection.read',
  'exposure.list',
  'template.read',
  'model.list',
  'action.read',
  'action.run',
  'action_run.read',
  'notification.read',
  'notification.write',
];

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

/** Refuses a credential that lacks the permission's scope, or is limited to workspaces while the permission reaches beyond (403). */
export function requireScope(actor: Actor, permission: Permission): void {
  const { scopes } = actor.credential;
  const scope = scopeOf(permission);
  if (scopes && !scopes.includes(scope)) throw new Forbidden(`This key lacks the scope ${scope}`);
  if (!reaches(actor, permission)) throw new Forbidden(beyond(permission));
}

/** Whether a permission lies within the reach of a credential, which may be limited to some workspaces. */
export const reaches = ({ credential }: Actor, permission: Permission | null): boolean =>
  credential.workspace_ids === null ||
  permission === null ||
  isWorkspacePermission(permission) ||
  WITHIN_WORKSPACES.includes(permission);

const beyond = (permission: Permission): string =>
  `This credential is limited to some workspaces and cannot act on the ${RULES[permission].on}; use one without that limit`;

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
