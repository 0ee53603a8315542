import { Injectable } from '@nestjs/common';
import {
  type Actor,
  ORGANIZATION_ROLES,
  type OrganizationPermission,
  POLICY,
  permissionsOn,
  requireNotAbove,
  WORKSPACE_ROLES,
  type WorkspacePermission,
} from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import type { Page } from '../../platform/dto/index.js';
import { ById } from '../../platform/dto/index.js';
import { Forbidden, Invalid } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { type Membership, MembersStore, memberView } from './members.store.js';
import {
  ListOfOrganization,
  MemberPage,
  MemberView,
  OrganizationId,
  RemovedView,
  RolesView,
  type RuleView,
  SetMemberRole,
  TransferOwnership,
} from './organizations.dto.js';
import { memberRemoved } from './organizations.events.js';
import { OrganizationsStore } from './organizations.store.js';

/** The policy table as people read it: each permission with the roles that have it. */
function roleMatrix(): RolesView {
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

const LAST_OWNER = { 409: 'The organization would be left without an owner' };

/** Members of an organization. A member cannot give a role above their own, or change a member with a higher one. */
@Injectable()
export class MembersService {
  constructor(
    private readonly database: Database,
    private readonly members: MembersStore,
    private readonly organizations: OrganizationsStore,
    private readonly events: Events,
    private readonly audit: Audit,
  ) {}

  @Action('member_list', 'GET /api/organizations/:orgId/members', {
    summary: 'List the members of an organization',
    permission: 'member.list',
    input: ListOfOrganization,
    output: MemberPage,
  })
  async list(actor: Actor, { organization_id, ...page }: ListOfOrganization): Promise<Page<MemberView>> {
    await this.organizations.require(actor, 'member.list', organization_id);
    return this.members.list(organization_id, page);
  }

  @Action('role_list', 'GET /api/organizations/:orgId/roles', {
    summary: 'Print which role may do what',
    permission: 'organization.read',
    input: OrganizationId,
    output: RolesView,
  })
  async roles(actor: Actor, { organization_id }: OrganizationId): Promise<RolesView> {
    await this.organizations.require(actor, 'organization.read', organization_id);
    return roleMatrix();
  }

  @Action('member_update', 'PATCH /api/organizations/:orgId/members/:userId', {
    summary: 'Change the role of a member',
    consequence: 'They may then do whatever this role may in the organization.',
    permission: 'member.manage',
    input: SetMemberRole,
    output: MemberView,
    refuses: LAST_OWNER,
  })
  async setRole(actor: Actor, { organization_id, user_id, role }: SetMemberRole): Promise<MemberView> {
    await this.organizations.require(actor, 'member.manage', organization_id);
    await this.database.transaction(async unit => {
      const member = await this.lockBelow(unit, actor, organization_id, user_id);
      requireNotAbove(await this.ownRole(unit, actor, organization_id), role);
      if (role !== 'owner') await this.members.requireAnotherOwner(unit, member);
      const details = { from: member.role, to: role };
      await this.audit.record(unit, actor, 'member.set_role', targetOf(member), details);
      await this.members.setRole(unit, member, role);
    });
    return memberView(await this.members.read(organization_id, user_id));
  }

  @Action('member_remove', 'DELETE /api/organizations/:orgId/members/:userId', {
    summary: 'Remove a member; their access, and their keys bound to the organization, end at once',
    effect: 'destructive',
    consequence:
      'They can be invited again; their keys that were bound to the organization are gone for good.',
    permission: 'member.manage',
    input: ById({ organization_id: 'The organization', user_id: 'The person' }),
    output: RemovedView,
    refuses: LAST_OWNER,
  })
  async remove(
    actor: Actor,
    { organization_id, user_id }: ById<'organization_id' | 'user_id'>,
  ): Promise<RemovedView> {
    await this.organizations.require(actor, 'member.manage', organization_id);
    await this.database.transaction(async unit => {
      const member = await this.lockBelow(unit, actor, organization_id, user_id);
      await this.dismiss(unit, actor, 'member.remove', member);
    });
    return { user_id, removed: true };
  }

  @Action('organization_leave', 'POST /api/organizations/:orgId/leave', {
    summary: 'Leave an organization',
    consequence:
      'You come back only if somebody invites you; your keys that were bound to it are gone for good.',
    permission: 'organization.leave',
    input: OrganizationId,
    output: RemovedView,
    commitsAnswer: true,
    refuses: LAST_OWNER,
  })
  async leave(actor: Actor, { organization_id }: OrganizationId): Promise<RemovedView> {
    await this.organizations.require(actor, 'organization.leave', organization_id);
    if (actor.type !== 'user') throw new Forbidden('A service account cannot leave; delete it instead');
    return this.database.transaction(async unit => {
      const member = await this.members.lock(unit, organization_id, actor.id);
      await this.dismiss(unit, actor, 'member.leave', member);
      return unit.answers({ user_id: actor.id, removed: true });
    });
  }

  @Action('organization_transfer', 'POST /api/organizations/:orgId/transfer', {
    summary: 'Hand an organization over: another member becomes owner, the caller an admin',
    consequence: 'Another member then owns the organization; only they can give it back.',
    permission: 'organization.transfer',
    input: TransferOwnership,
    output: MemberView,
    commitsAnswer: true,
  })
  async transfer(actor: Actor, { organization_id, user_id }: TransferOwnership): Promise<MemberView> {
    await this.organizations.require(actor, 'organization.transfer', organization_id);
    if (actor.type !== 'user') throw new Forbidden('Only a person can hand an organization over');
    if (user_id === actor.id) throw new Invalid('user_id must be another member');
    return this.database.transaction(async unit => {
      const self = await this.members.lock(unit, organization_id, actor.id);
      // The role may have changed before the membership was locked.
      if (self.role !== 'owner') throw new Forbidden('Only an owner can hand an organization over');
      const successor = await this.members.lock(unit, organization_id, user_id);
      await this.members.setRole(unit, successor, 'owner');
      await this.members.setRole(unit, self, 'admin');
      const details = { from: actor.id };
      await this.audit.record(unit, actor, 'organization.transfer', targetOf(successor), details);
      return unit.answers(memberView(await this.members.read(organization_id, user_id, unit)));
    });
  }

  /** The member, if their role is not above that of the caller; locked. */
  private async lockBelow(unit: UnitOfWork, actor: Actor, organizationId: string, userId: string) {
    const member = await this.members.lock(unit, organizationId, userId);
    requireNotAbove(await this.ownRole(unit, actor, organizationId), member.role);
    return member;
  }

  /** Read again while the membership is locked: two admins who demote each other do not both succeed. */
  private async ownRole(unit: UnitOfWork, actor: Actor, organizationId: string) {
    return (await this.organizations.require(actor, 'member.manage', organizationId, unit)).role;
  }

  private async dismiss(unit: UnitOfWork, actor: Actor, action: string, member: Membership): Promise<void> {
    await this.members.requireAnotherOwner(unit, member);
    const { organization_id, user_id, role } = member;
    await this.members.remove(unit, member);
    await this.events.publish(unit, memberRemoved, { organization_id, principal_id: user_id });
    await this.audit.record(unit, actor, action, targetOf(member), { role });
  }
}

const targetOf = ({ user_id: id, organization_id }: Membership) => ({ type: 'user', id, organization_id });
