import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Database, databaseTime, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Forbidden } from '../../platform/errors/index.js';
import { User } from '../accounts/index.js';
import { InvitedAccounts } from '../auth/index.js';
import { OrganizationsStore } from '../organizations/index.js';
import type { Invitation } from './invitation.entity.js';
import type {
  AcceptedView,
  AcceptInvitation,
  DeclinedView,
  InvitationPreview,
  InvitationToken,
} from './invitations.dto.js';
import { InvitationsStore } from './invitations.store.js';

/** What a person with the link of an invitation can do with it, with an account or without one. */
@Injectable()
export class AcceptanceService {
  constructor(
    private readonly database: Database,
    private readonly invitations: InvitationsStore,
    private readonly organizations: OrganizationsStore,
    private readonly accounts: InvitedAccounts,
  ) {}

  preview({ token }: InvitationToken): Promise<InvitationPreview> {
    return this.invitations.preview(token);
  }

  /** Joins, once. A signed-in caller joins with their account; without one, an account is made for the invited address. */
  async accept(actor: Actor | undefined, { token, name, password }: AcceptInvitation): Promise<AcceptedView> {
    const newcomer = actor
      ? undefined
      : await this.accounts.prepare(name, password, (await this.preview({ token })).email);
    return this.database.transaction(async unit => {
      const invitation = await this.invitations.lockByToken(unit, token);
      const now = await databaseTime(unit);
      invitation.requireOpen(now);
      const user = actor
        ? await this.invitee(unit, actor, invitation)
        : await this.accounts.make(unit, invitation.email, newcomer);
      await this.requireInviterStanding(unit, invitation);
      const { organizationId, role } = invitation;
      if (await this.organizations.roleOf(organizationId, user.id, unit))
        throw new Conflict('You are a member already');
      await this.organizations.addMember(unit, organizationId, user.id, role);
      invitation.accept(user.id, now);
      await this.invitations.record(unit, actor ?? null, 'invitation.accept', invitation, {
        user_id: user.id,
      });
      return {
        organization_id: organizationId,
        user_id: user.id,
        role,
        account_created: actor === undefined,
      };
    });
  }

  async decline({ token }: InvitationToken): Promise<DeclinedView> {
    await this.database.transaction(async unit => {
      const invitation = await this.invitations.lockByToken(unit, token);
      invitation.decline(await databaseTime(unit));
      await this.invitations.record(unit, null, 'invitation.decline', invitation, { user_id: null });
    });
    return { declined: true };
  }

  /** A link that was passed on is of no use to another person. */
  private async invitee(unit: UnitOfWork, actor: Actor, { email }: Invitation): Promise<User> {
    if (actor.credential.type !== 'session')
      throw new Forbidden('Accept an invitation with your own sign-in, not with a key');
    const user = await unit.entities.findOneOrFail(User, { id: actor.id });
    if (user.email !== email)
      throw new Forbidden('This invitation is for another e-mail address than that of your account');
    return user;
  }

  /** An invitation is worth no more than the standing of who made it, at the moment it is accepted. */
  private async requireInviterStanding(
    unit: UnitOfWork,
    { organizationId, invitedBy, role }: Invitation,
  ): Promise<void> {
    const standing = await this.organizations.roleOf(organizationId, invitedBy, unit);
    if (!standing || !mayGive(standing, role))
      throw new Conflict('Whoever invited you may no longer invite into this role; ask for a new invitation');
  }
}

function mayGive(standing: string, role: string): boolean {
  if (standing === 'owner') return true;
  return standing === 'admin' && role !== 'owner';
}
