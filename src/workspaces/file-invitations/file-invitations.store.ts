import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { User } from '../../identity/accounts/index.js';
import type { Membership } from '../../identity/organizations/index.js';
import {
  type Actor,
  hashSecret,
  type OrganizationRole,
  requireReachable,
  type WorkspaceRole,
  workspaceRole,
} from '../../platform/access/index.js';
import { Database, iso, isoOrNull, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { isReachableBy, isVisibleTo, type Workspace, type WorkspaceMember } from '../core/index.js';
import { type GiverStanding, mayStill } from '../exposure/index.js';
import type { FileInvitation, InvitedRole } from './file-invitation.entity.js';
import type { FileInvitationView } from './file-invitations.dto.js';

type Tables = {
  file_invitation: FileInvitation;
  workspace: Workspace;
  workspace_member: WorkspaceMember;
  membership: Membership;
  user: User;
};

type Queries = Pick<Database, 'tables'>;

export interface InvitationRow extends Row<FileInvitation>, GiverStanding {
  workspace_number: number;
  organization_id: string;
  invited_by_name: string | null;
  /** Of who asks; null for those outside the organization. */
  organization_role: OrganizationRole | null;
  workspace_role: WorkspaceRole | null;
}

export type HeldInvitation = Pick<
  InvitationRow,
  'id' | 'path' | 'email' | 'role' | 'accepted_by' | 'expires_at' | 'invited_by_name'
>;

export const reachOf = (role: InvitedRole) => (role === 'editor' ? 'file.write' : 'file.read');

export const noSuchInvitation = () => new NotFound('No such file invitation');

/** Questions about file invitations. */
@Injectable()
export class FileInvitationsStore {
  constructor(private readonly database: Database) {}

  /** In workspaces that the caller sees, oldest first, from after `after`. */
  list(
    actor: Actor,
    { workspaceId, after, limit }: { workspaceId?: string; after?: string; limit: number },
  ): Promise<InvitationRow[]> {
    let query = this.asked(actor).where('m.role', 'is not', null).where(isVisibleTo(actor));
    if (workspaceId) query = query.where('i.workspace_id', '=', workspaceId);
    if (after) query = query.where('i.id', '>', after);
    return query.orderBy('i.id').limit(limit).execute();
  }

  /** Those that the caller accepted. */
  listAccepted(actor: Actor, { after, limit }: { after?: string; limit: number }): Promise<InvitationRow[]> {
    const query = this.asked(actor).where('i.accepted_by', '=', actor.id).where(isReachableBy(actor));
    return (after ? query.where('i.id', '>', after) : query).orderBy('i.id').limit(limit).execute();
  }

  /** What somebody who holds the token may read, also once it is accepted or over; nothing while sharing is turned off. */
  async findByToken(token: string): Promise<HeldInvitation | undefined> {
    return this.database
      .tables<Tables>()
      .selectFrom('file_invitation as i')
      .innerJoin('workspace as w', 'w.id', 'i.workspace_id')
      .leftJoin('user as u', 'u.id', 'i.invited_by')
      .select(['i.id', 'i.path', 'i.email', 'i.role', 'i.accepted_by', 'i.expires_at'])
      .select('u.name as invited_by_name')
      .where('i.token_hash', '=', hashSecret(token))
      .where(sql<boolean>`'sharing' <> all(w.features_off)`)
      .executeTakeFirst();
  }

  /** What is to be known of its workspace. */
  placeOf(
    unit: UnitOfWork,
    { workspaceId }: Pick<FileInvitation, 'workspaceId'>,
  ): Promise<Pick<Row<Workspace>, 'organization_id' | 'features_off'>> {
    return unit
      .tables<Tables>()
      .selectFrom('workspace')
      .select(['organization_id', 'features_off'])
      .where('id', '=', workspaceId)
      .executeTakeFirstOrThrow();
  }

  /** With the caller's role in its workspace; 404 unless they see that, or accepted it. */
  async require(
    actor: Actor,
    id: string,
    within: Queries = this.database,
  ): Promise<InvitationRow & { role_there: WorkspaceRole | null }> {
    const row = await this.asked(actor, within).where('i.id', '=', id).executeTakeFirst();
    const role_there = row ? roleAt(actor.id, row) : null;
    if (!row || (role_there === null && row.accepted_by !== actor.id)) throw noSuchInvitation();
    return { ...row, role_there };
  }

  /** What was accepted by the caller and still stands; else 404. */
  async requireAccepted(actor: Actor, id: string): Promise<InvitationRow> {
    const row = await this.require(actor, id);
    if (row.accepted_by !== actor.id || !isStanding(row)) throw noSuchInvitation();
    requireReachable(actor, row.features_off);
    return row;
  }

  private asked(actor: Actor, within: Queries = this.database) {
    const { organization_id, workspace_ids } = actor.credential;
    let query = within
      .tables<Tables>()
      .selectFrom('file_invitation as i')
      .innerJoin('workspace as w', 'w.id', 'i.workspace_id')
      .leftJoin('membership as gm', join =>
        join
          .onRef('gm.organization_id', '=', 'w.organization_id')
          .onRef('gm.principal_id', '=', 'i.invited_by'),
      )
      .leftJoin('workspace_member as gwm', join =>
        join.onRef('gwm.workspace_id', '=', 'w.id').onRef('gwm.principal_id', '=', 'i.invited_by'),
      )
      .leftJoin('membership as m', join =>
        join.onRef('m.organization_id', '=', 'w.organization_id').on('m.principal_id', '=', actor.id),
      )
      .leftJoin('workspace_member as wm', join =>
        join.onRef('wm.workspace_id', '=', 'w.id').on('wm.principal_id', '=', actor.id),
      )
      .leftJoin('user as u', 'u.id', 'i.invited_by')
      .selectAll('i')
      .select([
        'w.number as workspace_number',
        'w.organization_id',
        'w.features_off',
        'w.visibility',
        'w.created_by as workspace_created_by',
        'gm.role as giver_organization_role',
        'gwm.role as giver_workspace_role',
        'm.role as organization_role',
        'wm.role as workspace_role',
        'u.name as invited_by_name',
      ]);
    if (organization_id) query = query.where('w.organization_id', '=', organization_id);
    if (workspace_ids) query = query.where(sql<boolean>`w.id = any(${[...workspace_ids]}::uuid[])`);
    return query.$castTo<InvitationRow>();
  }
}

const isStanding = (row: InvitationRow) => mayStill(row.invited_by, row, reachOf(row.role));

function roleAt(actorId: string, row: InvitationRow): WorkspaceRole | null {
  const { organization_role, workspace_role, visibility, workspace_created_by } = row;
  if (!organization_role) return null;
  const standing = { organization_role, workspace_role, visibility, created_by: workspace_created_by };
  return workspaceRole(actorId, standing);
}

export function fileInvitationView(row: InvitationRow): FileInvitationView {
  const { id, workspace_id, path, email, role, invited_by, invited_by_name } = row;
  return {
    ...{ id, workspace_id, path, email, role },
    status: statusOf(row),
    ...{ invited_by, invited_by_name },
    accepted_at: isoOrNull(row.accepted_at),
    created_at: iso(row.created_at),
    expires_at: iso(row.expires_at),
  };
}

function statusOf(row: InvitationRow): string {
  if (!isStanding(row)) return 'suspended';
  if (row.accepted_by) return 'accepted';
  return new Date(row.expires_at) <= new Date() ? 'expired' : 'pending';
}
