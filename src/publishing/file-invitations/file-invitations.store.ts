import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  type Actor,
  hashSecret,
  isAmong,
  isReachableBy,
  requireReachable,
  roleOf,
  visibleTo,
  type WorkspaceRole,
  workspacesOf,
} from '../../platform/access/index.js';
import { Database, iso, isoOrNull, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, pageById } from '../../platform/dto/index.js';
import { Conflict, Gone } from '../../platform/errors/index.js';
import { type GiverStanding, PublicLink } from '../exposure/index.js';
import type { FileInvitationView, InvitedRole } from './file-invitations.dto.js';

const LIFE_DAYS = 14;

const IS_OVER = sql<boolean>`i.expires_at <= now()`;

type Queries = Pick<Database, 'tables'>;
type AskedWorkspace = Row<'workspace'> & { role: WorkspaceRole | null };

export interface InvitationRow extends Row<'file_invitation'>, GiverStanding {
  workspace_number: number;
  organization_id: string;
  invited_by_name: string | null;
  /** Its time is over, accepted or not. */
  is_over: boolean;
  /** Role of the caller; null where they do not see the workspace. */
  role_there: WorkspaceRole | null;
}

export type LockedInvitation = Row<'file_invitation'> &
  Pick<InvitationRow, 'organization_id' | 'features_off' | 'is_over'>;

export type HeldInvitation = Pick<
  InvitationRow,
  'id' | 'path' | 'email' | 'role' | 'accepted_by' | 'invited_by_name'
> & {
  status: 'pending' | 'accepted' | 'expired';
};

export const reachOf = (role: InvitedRole) => (role === 'editor' ? 'file.write' : 'file.read');

export const FILE_INVITATION = new PublicLink<GiverStanding & { role: InvitedRole }>({
  name: 'file_invitation',
  noun: 'file invitation',
  needs: ({ role }) => reachOf(role),
});

/**
 * Ways to one path of a workspace, each for one person. They become no member of anything: a person who accepts has that path, and
 * only for as long as the inviter could use it that way.
 */
@Injectable()
export class FileInvitationsStore {
  constructor(private readonly database: Database) {}

  list(actor: Actor, workspaceId: string | undefined, input: PageInput): Promise<Page<FileInvitationView>> {
    const all = this.invitations(this.database, visibleTo<Row<'workspace'>>(actor));
    const query = workspaceId ? all.where('i.workspace_id', '=', workspaceId) : all;
    return pageById(query, input, toView, { by: 'i.id' });
  }

  listAccepted(actor: Actor, input: PageInput): Promise<Page<FileInvitationView>> {
    const query = this.asked(actor).where('i.accepted_by', '=', actor.id).where(isReachableBy(actor));
    return pageById(query, input, toView, { by: 'i.id' });
  }

  /** Also when it is accepted or expired; none while sharing is turned off. */
  async findByToken(token: string): Promise<HeldInvitation | undefined> {
    const row = await this.database
      .tables()
      .selectFrom('file_invitation as i')
      .innerJoin('workspace as w', 'w.id', 'i.workspace_id')
      .leftJoin('user as u', 'u.id', 'i.invited_by')
      .select(['i.id', 'i.path', 'i.email', 'i.role', 'i.accepted_by', 'u.name as invited_by_name'])
      .select(IS_OVER.as('is_over'))
      .where('i.token_hash', '=', hashSecret(token))
      .where(sql<boolean>`'sharing' <> all(w.features_off)`)
      .executeTakeFirst();
    if (!row) return undefined;
    const { is_over, ...held } = row;
    return { ...held, status: deriveStage({ ...held, is_over }) };
  }

  /** 404 for an unknown token, and while sharing is turned off. */
  async lockByToken(unit: UnitOfWork, token: string): Promise<LockedInvitation> {
    const row = await unit
      .tables()
      .selectFrom('file_invitation as i')
      .innerJoin('workspace as w', 'w.id', 'i.workspace_id')
      .selectAll('i')
      .select(['w.organization_id', 'w.features_off', IS_OVER.as('is_over')])
      .where('i.token_hash', '=', hashSecret(token))
      .forUpdate('i')
      .executeTakeFirst();
    if (!row || row.features_off.includes('sharing')) throw FILE_INVITATION.missing();
    return row;
  }

  async add(
    unit: UnitOfWork,
    row: Pick<
      Row<'file_invitation'>,
      'id' | 'workspace_id' | 'path' | 'email' | 'role' | 'token_hash' | 'invited_by'
    >,
  ): Promise<void> {
    const times = {
      created_at: sql<Date>`now()`,
      expires_at: sql<Date>`now() + make_interval(days => ${LIFE_DAYS})`,
    };
    await unit
      .tables()
      .insertInto('file_invitation')
      .values({ ...row, ...times })
      .execute();
  }

  async accept(unit: UnitOfWork, invitation: LockedInvitation, userId: string): Promise<void> {
    requireOpen(invitation);
    const accepted = { accepted_by: userId, accepted_at: sql<string>`now()` };
    await unit
      .tables()
      .updateTable('file_invitation')
      .set(accepted)
      .where('id', '=', invitation.id)
      .execute();
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    const { numDeletedRows } = await unit
      .tables()
      .deleteFrom('file_invitation')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw FILE_INVITATION.missing();
  }

  /** 404 unless the caller sees its workspace, or accepted it. */
  async require(actor: Actor, id: string, within: Queries = this.database): Promise<InvitationRow> {
    const row = await this.asked(actor, within).where('i.id', '=', id).executeTakeFirst();
    if (!row || (row.role_there === null && row.accepted_by !== actor.id)) throw FILE_INVITATION.missing();
    return row;
  }

  /** 404 unless the caller accepted it and it still stands. */
  async requireAccepted(actor: Actor, id: string): Promise<InvitationRow> {
    const row = await this.require(actor, id);
    if (row.accepted_by !== actor.id || !FILE_INVITATION.stands(row)) throw FILE_INVITATION.missing();
    requireReachable(actor, row.features_off);
    return row;
  }

  /** In all workspaces that the credential reaches, of other organizations too. */
  private asked(actor: Actor, within: Queries = this.database) {
    const { organization_id, workspace_ids } = actor.credential;
    const workspaces = sql<AskedWorkspace>`(select w.*, a.role from workspace w
      left join ${workspacesOf(actor)} a on a.id = w.id where ${isAmong('w.id', workspace_ids)})`;
    const query = this.invitations(within, workspaces);
    return organization_id ? query.where('w.organization_id', '=', organization_id) : query;
  }

  private invitations(within: Queries, workspaces: RawBuilder<AskedWorkspace>) {
    return within
      .tables()
      .selectFrom('file_invitation as i')
      .innerJoin(workspaces.as('w'), 'w.id', 'i.workspace_id')
      .leftJoin('user as u', 'u.id', 'i.invited_by')
      .selectAll('i')
      .select(['w.number as workspace_number', 'w.organization_id', 'w.features_off', 'w.role as role_there'])
      .select([roleOf(sql.ref('i.invited_by')).as('giver_role'), 'u.name as invited_by_name'])
      .select(IS_OVER.as('is_over'))
      .$castTo<InvitationRow>();
  }
}

export function requireOpen({ accepted_by, is_over }: LockedInvitation): void {
  if (accepted_by) throw new Conflict('This invitation was accepted already');
  if (is_over) throw new Gone('This invitation has expired; ask for a new one');
}

export function toView(row: InvitationRow): FileInvitationView {
  const { id, workspace_id, path, email, role, invited_by, invited_by_name } = row;
  return {
    id,
    workspace_id,
    path,
    email,
    role,
    status: deriveStatus(row),
    invited_by,
    invited_by_name,
    accepted_at: isoOrNull(row.accepted_at),
    created_at: iso(row.created_at),
    expires_at: iso(row.expires_at),
  };
}

function deriveStatus(row: InvitationRow): string {
  return FILE_INVITATION.stands(row) ? deriveStage(row) : 'suspended';
}

function deriveStage({ accepted_by, is_over }: Pick<InvitationRow, 'accepted_by' | 'is_over'>) {
  if (accepted_by) return 'accepted';
  return is_over ? 'expired' : 'pending';
}
