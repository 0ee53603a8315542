import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { type Actor, requireNotAbove } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Database, databaseTime, type UnitOfWork } from '../../platform/database/index.js';
import { ById, DeletedView, type Page } from '../../platform/dto/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { User } from '../accounts/index.js';
import { ListOfOrganization, OrganizationsStore } from '../organizations/index.js';
import { Invitation } from './invitation.entity.js';
import { InvitationLetter } from './invitation-letter.js';
import { CreateInvitation, InvitationPage, InvitationView, SentInvitationView } from './invitations.dto.js';
import { entityView, InvitationsStore } from './invitations.store.js';

/** Inviting people into an organization. */
@Injectable()
export class InvitationsService {
  constructor(
    private readonly database: Database,
    private readonly invitations: InvitationsStore,
    private readonly organizations: OrganizationsStore,
    private readonly letter: InvitationLetter,
  ) {}

  @Action('invitation_list', 'GET /api/organizations/:orgId/invitations', {
    summary: 'List the invitations of an organization',
    effect: 'read',
    permission: 'invitation.manage',
    input: ListOfOrganization,
    output: InvitationPage,
  })
  async list(actor: Actor, { organization_id, ...page }: ListOfOrganization): Promise<Page<InvitationView>> {
    await this.organizations.require(actor, 'invitation.manage', organization_id);
    return this.invitations.list(organization_id, page);
  }

  @Action('invitation_create', 'POST /api/organizations/:orgId/invitations', {
    summary: 'Invite somebody into an organization, with a role not above that of the caller',
    consequence: 'Somebody new can then join the organization, with this role.',
    permission: 'invitation.manage',
    input: CreateInvitation,
    output: SentInvitationView,
    commitsAnswer: true,
    refuses: {
      409: 'They are a member already, or have an open invitation',
      429: 'Too many mails in this hour',
    },
  })
  async create(actor: Actor, input: CreateInvitation): Promise<SentInvitationView> {
    const { organization_id: organizationId, email, role = 'member' } = input;
    const { role: own, name } = await this.organizations.require(actor, 'invitation.manage', organizationId);
    requireNotAbove(own, role);
    await this.letter.allow(actor, User.normalizeEmail(email));
    const invitation = new Invitation({ organizationId, email, role, invitedBy: actor.id });
    try {
      return await this.database.transaction(async unit => {
        await this.refuseMember(unit, invitation);
        const token = invitation.renewLink(await databaseTime(unit));
        unit.add(invitation);
        await unit.flush();
        return this.send(unit, actor, invitation, { action: 'invitation.create', token, organization: name });
      });
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      throw new Conflict('They have an open invitation; send that one again, or withdraw it first');
    }
  }

  @Action('invitation_resend', 'POST /api/organizations/:orgId/invitations/:id/resend', {
    summary: 'Send an invitation again, with a new link; the old one is void',
    consequence: 'The invitation is open again for its whole time, and its link is sent to this address.',
    permission: 'invitation.manage',
    input: ById({ organization_id: 'The organization', id: 'The invitation' }),
    output: SentInvitationView,
    commitsAnswer: true,
    refuses: { 409: 'It is no longer open', 410: 'It was withdrawn', 429: 'Too many mails in this hour' },
  })
  async resend(
    actor: Actor,
    { organization_id, id }: ById<'organization_id' | 'id'>,
  ): Promise<SentInvitationView> {
    const { role: own, name } = await this.organizations.require(actor, 'invitation.manage', organization_id);
    await this.letter.allow(actor, await this.invitations.addressOf(organization_id, id));
    return this.database.transaction(async unit => {
      const invitation = await this.invitations.lock(unit, organization_id, id);
      requireNotAbove(own, invitation.role);
      const token = invitation.renewLink(await databaseTime(unit));
      return this.send(unit, actor, invitation, { action: 'invitation.resend', token, organization: name });
    });
  }

  @Action('invitation_revoke', 'DELETE /api/organizations/:orgId/invitations/:id', {
    summary: 'Withdraw an invitation',
    effect: 'destructive',
    consequence: 'The link in the invitation is dead; another invitation can be sent.',
    permission: 'invitation.manage',
    input: ById({ organization_id: 'The organization', id: 'The invitation' }),
    output: DeletedView,
    refuses: { 409: 'It is no longer open', 410: 'It was withdrawn already' },
  })
  async revoke(actor: Actor, { organization_id, id }: ById<'organization_id' | 'id'>): Promise<DeletedView> {
    await this.organizations.require(actor, 'invitation.manage', organization_id);
    await this.database.transaction(async unit => {
      const invitation = await this.invitations.lock(unit, organization_id, id);
      invitation.revoke();
      await this.invitations.record(unit, actor, 'invitation.revoke', invitation);
    });
    return DeletedView.of(id);
  }

  private async refuseMember(unit: UnitOfWork, { organizationId, email }: Invitation): Promise<void> {
    const user = await unit.entities.findOne(User, { email });
    if (user && (await this.organizations.roleOf(organizationId, user.id, unit)))
      throw new Conflict('They are a member already');
  }

  private async send(
    unit: UnitOfWork,
    actor: Actor,
    invitation: Invitation,
    { action, ...words }: { action: string; token: string; organization: string },
  ): Promise<SentInvitationView> {
    const link = await this.letter.send(unit, actor, invitation, words);
    await this.invitations.record(unit, actor, action, invitation);
    return unit.answers({ ...entityView(invitation), link, mailed: this.letter.isMailed });
  }
}
