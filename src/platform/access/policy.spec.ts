import { describe, expect, it } from '@jest/globals';
import type { Actor } from './actor.js';
import {
  POLICY,
  permissionsOn,
  requireInWorkspace,
  requireNotAbove,
  requireOrganizationRole,
  requireScope,
  requireWorkspaceRole,
} from './policy.js';

const withScopes = (scopes: string[] | null) => ({ credential: { scopes } }) as unknown as Actor;

describe('what is required', () => {
  it('is the least role or a higher one', () => {
    expect(() => requireOrganizationRole('admin', 'organization.update')).not.toThrow();
    expect(() => requireOrganizationRole('member', 'organization.update')).toThrow(
      'Requires the admin role; you are a member',
    );
    expect(() => requireWorkspaceRole('editor', 'file.write')).not.toThrow();
    expect(() => requireWorkspaceRole('viewer', 'file.write')).toThrow(
      'Requires the editor role in this workspace; you are a viewer',
    );
  });

  it('is the scope, of limited credentials alone', () => {
    expect(() => requireScope(withScopes(null), 'file.write')).not.toThrow();
    expect(() => requireScope(withScopes(['files:write']), 'file.write')).not.toThrow();
    expect(() => requireScope(withScopes([]), 'file.write')).toThrow('files:write');
  });

  it("is a role not above one's own", () => {
    expect(() => requireNotAbove('admin', 'admin')).not.toThrow();
    expect(() => requireNotAbove('admin', 'owner')).toThrow(
      'The owner role is above yours; you are an admin',
    );
  });
});

/** Written down a second time: a slip in the table is a hole that nothing else would show. */
describe('the least role, the scope and the effect of each permission', () => {
  const inWords = (on: 'organization' | 'workspace') =>
    Object.fromEntries(
      permissionsOn(on).map(name => [
        name,
        `${POLICY[name].least} ${POLICY[name].scope} ${POLICY[name].effect}`,
      ]),
    );

  it('are these in an organization', () => {
    expect(inWords('organization')).toEqual({
      'organization.read': 'guest organizations:read read',
      'organization.update': 'admin organizations:write write',
      'organization.delete': 'owner organizations:write destructive',
      'audit.read': 'admin audit:read read',
      'member.list': 'member members:read read',
      'member.manage': 'admin members:write expose',
      'organization.leave': 'guest members:write destructive',
      'organization.transfer': 'owner members:write expose',
      'invitation.manage': 'admin members:write expose',
      'service_account.read': 'admin service_accounts:read read',
      'service_account.manage': 'admin service_accounts:write expose',
      'model.configure': 'admin models:write expose',
      'agent.instruct': 'admin agents:write expose',
      'connection.read': 'member connections:read read',
      'connection.manage': 'member connections:write expose',
      'connection.delete': 'member connections:write destructive',
      'provider.configure': 'admin connections:write expose',
      'billing.read': 'admin billing:read read',
      'billing.update': 'admin billing:write expose',
      'webhook.manage': 'admin notifications:write expose',
      'webhook.read': 'admin notifications:read read',
      'workspace.create': 'member workspaces:write write',
      'template.delete': 'admin templates:write destructive',
      'template.update': 'admin templates:write expose',
      'exposure.limit': 'admin shares:write expose',
      'exposure.list': 'guest shares:read read',
      'exposure.manage': 'admin shares:write destructive',
    });
  });

  it('are these in a workspace', () => {
    expect(inWords('workspace')).toEqual({
      'workspace.read': 'viewer workspaces:read read',
      'workspace.update': 'admin workspaces:write expose',
      'workspace.delete': 'admin workspaces:write destructive',
      'workspace.members': 'admin members:write expose',
      'budget.read': 'viewer billing:read read',
      'budget.update': 'admin billing:write expose',
      'file.read': 'viewer files:read read',
      'file.write': 'editor files:write destructive',
      'share.read': 'viewer shares:read read',
      'share.manage': 'editor shares:write expose',
      'share.revoke': 'editor shares:write destructive',
      'code.run': 'editor code:run write',
      'sandbox.end': 'editor code:run destructive',
      'chat.read': 'viewer chats:read read',
      'chat.write': 'editor chats:write destructive',
      'template.publish': 'admin templates:write expose',
      'form.read': 'viewer forms:read read',
      'form.share': 'editor forms:write expose',
      'form.manage': 'editor forms:write destructive',
      'site.read': 'viewer sites:read read',
      'site.publish': 'editor sites:write destructive',
      'hosting.access': 'editor sites:write expose',
      'tunnel.read': 'viewer servers:read read',
      'tunnel.run': 'editor servers:write write',
      'tunnel.manage': 'editor servers:write destructive',
      'tunnel.access': 'editor servers:write expose',
      'agent.run': 'editor agent:run write',
      'agent.stop': 'editor agent:run destructive',
      'approval.read': 'viewer approvals:read read',
      'approval.decide': 'editor approvals:write expose',
      'connection.use': 'editor connections:write destructive',
      'git.read': 'viewer git:read read',
      'git.write': 'editor git:write destructive',
      'git.push': 'editor git:write expose',
      'loop.read': 'viewer loops:read read',
      'loop.run': 'editor loops:write write',
      'automation.read': 'viewer automations:read read',
      'automation.run': 'editor automations:run write',
      'automation.deploy': 'editor automations:write expose',
      'automation.manage': 'editor automations:write destructive',
    });
  });
});

describe('a feature that is turned off', () => {
  const off = (...features_off: ('agents' | 'mcp' | 'sandbox' | 'sharing')[]) => ({
    role: 'admin' as const,
    features_off,
  });
  const permissions = permissionsOn('workspace');
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
    expect(refused(owner, off('sandbox'))).toEqual([
      'tunnel.run',
      'code.run',
      'git.read',
      'git.write',
      'git.push',
    ]);
    expect(refused(owner, off('sharing'))).toEqual(['share.manage', 'form.share']);
    expect(() => requireInWorkspace(owner, 'agent.run', off('agents'))).toThrow(
      'The feature agents is turned off in this workspace; an admin of the workspace can turn it on',
    );
  });

  it('closes the whole workspace to those who come over MCP, where that is turned off', () => {
    expect(refused(withScopes(null), off('mcp'))).toEqual([]);
    expect(refused({ ...withScopes(null), surface: 'mcp' }, off('mcp'))).toEqual(permissions);
    expect(refused({ ...withScopes(null), surface: 'mcp' }, off('sharing'))).toEqual([
      'share.manage',
      'form.share',
    ]);
  });
});
