import { describe, expect, it } from '@jest/globals';
import type { Actor } from './actor.js';
import {
  ORGANIZATION_POLICY,
  ORGANIZATION_ROLES,
  requireInWorkspace,
  requireNotAbove,
  requireOrganizationRole,
  requireScope,
  requireWorkspaceRole,
  VISIBILITIES,
  WORKSPACE_POLICY,
  WORKSPACE_ROLES,
  workspaceRole,
} from './policy.js';

const standing = {
  created_by: 'creator',
  visibility: 'org',
  organization_role: 'member',
  workspace_role: null,
} as const;
const withScopes = (scopes: string[] | null) => ({ credential: { scopes } }) as unknown as Actor;

describe('workspaceRole', () => {
  it('makes its creator an admin, whatever the visibility', () => {
    for (const visibility of VISIBILITIES)
      expect(workspaceRole('creator', { ...standing, visibility })).toBe('admin');
  });

  it('hides a private workspace from everybody else, owners and those added included', () => {
    for (const organization_role of ORGANIZATION_ROLES)
      for (const workspace_role of [...WORKSPACE_ROLES, null])
        expect(
          workspaceRole('other', { ...standing, visibility: 'private', organization_role, workspace_role }),
        ).toBeNull();
  });

  it.each([
    ['org', 'owner', null, 'admin'],
    ['org', 'admin', 'viewer', 'admin'],
    ['org', 'member', null, 'editor'],
    ['org', 'member', 'viewer', 'viewer'],
    ['org', 'guest', null, null],
    ['org', 'guest', 'editor', 'editor'],
    ['restricted', 'admin', null, 'admin'],
    ['restricted', 'member', null, null],
    ['restricted', 'member', 'viewer', 'viewer'],
    ['restricted', 'guest', 'admin', 'admin'],
  ] as const)(
    'in a workspace that is %s, gives %s with %s the role %s',
    (visibility, organization_role, workspace_role, role) => {
      expect(workspaceRole('other', { ...standing, visibility, organization_role, workspace_role })).toBe(
        role,
      );
    },
  );
});

describe('what is required', () => {
  it('is the least role or a higher one', () => {
    expect(() => requireOrganizationRole('admin', 'organization.update')).not.toThrow();
    expect(() => requireOrganizationRole('member', 'organization.update')).toThrow(
      'This takes the role admin',
    );
    expect(() => requireWorkspaceRole('editor', 'file.write')).not.toThrow();
    expect(() => requireWorkspaceRole('viewer', 'file.write')).toThrow('yours is viewer');
  });

  it('is the scope, of limited credentials alone', () => {
    expect(() => requireScope(withScopes(null), 'file.write')).not.toThrow();
    expect(() => requireScope(withScopes(['files:write']), 'file.write')).not.toThrow();
    expect(() => requireScope(withScopes([]), 'file.write')).toThrow('files:write');
  });

  it("is a role not above one's own", () => {
    expect(() => requireNotAbove('admin', 'admin')).not.toThrow();
    expect(() => requireNotAbove('admin', 'owner')).toThrow('above yours');
  });
});

/** Written down a second time: a slip in the table is a hole that nothing else would show. */
describe('the least role and the scope of each permission', () => {
  const inWords = (policy: Record<string, { least: string; scope: string }>) =>
    Object.fromEntries(Object.entries(policy).map(([name, { least, scope }]) => [name, `${least} ${scope}`]));

  it('are these in an organization', () => {
    expect(inWords(ORGANIZATION_POLICY)).toEqual({
      'organization.read': 'guest organizations:read',
      'organization.update': 'admin organizations:write',
      'organization.delete': 'owner organizations:write',
      'audit.read': 'admin audit:read',
      'member.list': 'member members:read',
      'member.manage': 'admin members:write',
      'organization.leave': 'guest members:write',
      'organization.transfer': 'owner members:write',
      'invitation.manage': 'admin members:write',
      'service_account.read': 'admin service_accounts:read',
      'service_account.manage': 'admin service_accounts:write',
      'model.configure': 'admin models:write',
      'billing.read': 'admin billing:read',
      'billing.update': 'admin billing:write',
      'workspace.create': 'member workspaces:write',
      'exposure.list': 'guest shares:read',
      'exposure.manage': 'admin shares:write',
    });
  });

  it('are these in a workspace', () => {
    expect(inWords(WORKSPACE_POLICY)).toEqual({
      'workspace.read': 'viewer workspaces:read',
      'workspace.update': 'admin workspaces:write',
      'workspace.delete': 'admin workspaces:write',
      'workspace.members': 'admin members:write',
      'budget.read': 'viewer billing:read',
      'budget.update': 'admin billing:write',
      'file.read': 'viewer files:read',
      'file.write': 'editor files:write',
      'share.read': 'viewer shares:read',
      'share.manage': 'editor shares:write',
      'share.revoke': 'editor shares:write',
      'code.run': 'editor code:run',
      'sandbox.end': 'editor code:run',
      'chat.read': 'viewer chats:read',
      'chat.write': 'editor chats:write',
      'agent.run': 'editor agent:run',
      'agent.stop': 'editor agent:run',
      'approval.read': 'viewer approvals:read',
      'approval.decide': 'editor approvals:write',
    });
  });
});

describe('a feature that is turned off', () => {
  const off = (...features_off: ('agents' | 'mcp' | 'sandbox' | 'sharing')[]) => ({
    role: 'admin' as const,
    features_off,
  });
  const permissions = Object.keys(WORKSPACE_POLICY) as (keyof typeof WORKSPACE_POLICY)[];
  const refused = (actor: Actor, access: ReturnType<typeof off>) =>
    permissions.filter(permission => {
      try {
        requireInWorkspace(actor, permission, access);
        return false;
      } catch {
        return true;
      }
    });

  it('is refused to everyone, in words that say what is off and who turns it on; what ends it is not', () => {
    const owner = withScopes(null);
    expect(refused(owner, off())).toEqual([]);
    expect(refused(owner, off('agents'))).toEqual(['agent.run']);
    expect(refused(owner, off('sandbox'))).toEqual(['code.run']);
    expect(refused(owner, off('sharing'))).toEqual(['share.manage']);
    expect(() => requireInWorkspace(owner, 'agent.run', off('agents'))).toThrow(
      'The feature agents is turned off in this workspace; an admin of the workspace can turn it on',
    );
  });

  it('closes the whole workspace to those who come over MCP, where that is turned off', () => {
    expect(refused(withScopes(null), off('mcp'))).toEqual([]);
    expect(refused({ ...withScopes(null), surface: 'mcp' }, off('mcp'))).toEqual(permissions);
    expect(refused({ ...withScopes(null), surface: 'mcp' }, off('sharing'))).toEqual(['share.manage']);
  });
});
