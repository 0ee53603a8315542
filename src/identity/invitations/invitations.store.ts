import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, hashSecret } from '../../platform/access/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, iso, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, pageById, toView } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { Invitation } from './invitation.entity.js';
import { type InvitationPreview, InvitationView } from './invitations.dto.js';

/** Invitations into organizations. */
@Injectable()
export class InvitationsStore {
  constructor(
    private readonly database: Database,
    private readonly audit: Audit,
  ) {}

  list(organizationId: string, input: PageInput): Promise<Page<InvitationView>> {
    const invitations = this.database.tables().selectFrom('invitation').selectAll();
    return pageById(invitations.where('organization_id', '=', organizationId), input, invitationView);
  }

  /** Writes what was done to an invitation into the audit log. */
  record(unit: UnitOfWork, actor: Actor | null, action: string, invitation: Invitation, more: object = {}) {
    const { id, organizationId: organization_id, email, role } = invitation;
    const target = { type: 'invitation', id, organization_id };
    return this.audit.record(unit, actor, action, target, { email, role, ...more });
  }

  /** The address that an invitation of an organization is for. */
  async addressOf(organizationId: string, id: string): Promise<string> {
    const row = await this.database
      .tables()
      .selectFrom('invitation')
      .select('email')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .executeTakeFirst();
    return required(row).email;
  }

  /** An invitation of an organization, locked until the transaction ends. */
  async lock(unit: UnitOfWork, organizationId: string, id: string): Promise<Invitation> {
    return required(
      await unit.entities.findOne(
        Invitation,
        { organizationId, id },
        { lockMode: LockMode.PESSIMISTIC_WRITE },
      ),
    );
  }

  /** The invitation that a link belongs to, locked until the transaction ends. */
  async lockByToken(unit: UnitOfWork, token: string): Promise<Invitation> {
    const tokenHash = hashSecret(token);
    return required(
      await unit.entities.findOne(Invitation, { tokenHash }, { lockMode: LockMode.PESSIMISTIC_WRITE }),
    );
  }

  async preview(token: string): Promise<InvitationPreview> {
    const { organization_name, invited_by_name, email, role, status, expires_at } = await this.look(token);
    return { organization_name, invited_by_name, email, role, status, expires_at };
  }

  /** What there is to say of the invitation that a link belongs to. */
  async look(token: string): Promise<LookedAtInvitation> {
    return required(await this.find(token));
  }

  async find(token: string): Promise<LookedAtInvitation | undefined> {
    const row = await this.database
      .tables()
      .selectFrom('invitation as i')
      .innerJoin('organization as o', 'o.id', 'i.organization_id')
      .leftJoin('user as u', 'u.id', 'i.invited_by')
      .select([
        'i.organization_id',
        'i.accepted_by',
        'i.email',
        'i.role',
        'i.status',
        'i.expires_at',
        'o.name as organization_name',
        'u.name as invited_by_name',
      ])
      .select(sql<boolean>`i.expires_at <= now()`.as('is_over'))
      .where('i.token_hash', '=', hashSecret(token))
      .executeTakeFirst();
    if (!row) return undefined;
    const { expires_at, status, is_over, ...rest } = row;
    return {
      ...rest,
      status: is_over && status === 'pending' ? 'expired' : status,
      expires_at: iso(expires_at),
    };
  }
}

export interface LookedAtInvitation extends InvitationPreview {
  organization_id: string;
  /** The account that joined by it. */
  accepted_by: string | null;
}

function required<T>(found: T | null | undefined): T {
  if (!found) throw new NotFound('No such invitation');
  return found;
}

function invitationView(row: Row<'invitation'>): InvitationView {
  const { id, organization_id, email, role, status, invited_by } = row;
  const times = { created_at: iso(row.created_at), expires_at: iso(row.expires_at) };
  return { id, organization_id, email, role, status, invited_by, ...times };
}

export function entityView(invitation: Invitation): InvitationView {
  return toView(InvitationView, invitation, {
    organization_id: invitation.organizationId,
    invited_by: invitation.invitedBy,
    created_at: iso(invitation.createdAt),
    expires_at: iso(invitation.expiresAt),
  });
}
