import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Membership } from '../../../identity/organizations/index.js';
import {
  type Actor,
  type OrganizationRole,
  type WorkspacePermission,
  type WorkspaceRole,
  workspaceRole,
} from '../../../platform/access/index.js';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { isReachableBy, isVisibleTo, type Workspace, type WorkspaceMember } from '../../core/index.js';
import { type GiverStanding, mayStill } from '../../exposure/index.js';
import type { Allowance, ShareLink } from './share-link.entity.js';

type Tables = {
  share_link: ShareLink;
  workspace: Workspace;
  workspace_member: WorkspaceMember;
  membership: Membership;
};
type Queries = Pick<Database, 'tables'>;
export type Counter = 'views' | 'downloads' | 'uploads';

/** A link with its workspace, and what decides whether it still stands. */
export interface LinkRow extends Row<ShareLink>, GiverStanding {
  workspace_number: number;
  workspace_name: string;
  organization_id: string;
}

/** A link, and who asks for it. */
export interface AskedLinkRow extends LinkRow {
  organization_role: OrganizationRole;
  workspace_role: WorkspaceRole | null;
}

/** What somebody must be allowed to do themselves to let others do it. */
export const reachOf = (allow: Allowance): WorkspacePermission =>
  allow === 'upload' ? 'file.write' : 'file.read';

/** Whether the one who made a link could still do what it allows. */
export const isStanding = (row: LinkRow): boolean => mayStill(row.created_by, row, reachOf(row.allow));

/** The role of who asks, in the workspace of a link. */
export const roleAt = (actorId: string, row: AskedLinkRow): WorkspaceRole | null =>
  workspaceRole(actorId, { ...row, created_by: row.workspace_created_by });

/** SQL for `roleAllows(role, 'share.manage')` where the workspace is visible. */
export const isManagedBy = (actorId: string) =>
  sql<boolean>`(w.created_by = ${actorId} or wm.role is distinct from 'viewer')`;

/** Questions about share links. */
@Injectable()
export class ShareLinksStore {
  constructor(private readonly database: Database) {}

  /** One query, whatever the token: what is not a token takes as long as what is one no more. */
  findByTokenHash(hash: string): Promise<LinkRow | undefined> {
    return this.links(this.database).where('s.token_hash', '=', hash).executeTakeFirst();
  }

  /** The link with who asks, if they are in its organization and their credential reaches that far; else 404. */
  async require(actor: Actor, id: string, within: Queries = this.database): Promise<AskedLinkRow> {
    const row = await this.asked(actor, within).where('s.id', '=', id).executeTakeFirst();
    if (!row) throw new NotFound('No such share link');
    return row;
  }

  /** Links in workspaces that the caller sees, oldest first, from after `after`. */
  list(
    actor: Actor,
    filter: { workspaceId?: string; after?: string; limit: number },
  ): Promise<AskedLinkRow[]> {
    const all = this.asked(actor, this.database).where(isVisibleTo(actor));
    const query = filter.workspaceId ? all.where('s.workspace_id', '=', filter.workspaceId) : all;
    return this.pageOf(query, filter);
  }

  /** Those of one organization that the caller may manage; with `all`, also in workspaces that they do not see. */
  listOfOrganization(
    actor: Actor,
    filter: { organizationId: string; all: boolean; after?: string; limit: number },
  ): Promise<AskedLinkRow[]> {
    const query = this.asked(actor, this.database).where('w.organization_id', '=', filter.organizationId);
    return this.pageOf(
      filter.all
        ? query.where(isReachableBy(actor))
        : query.where(isVisibleTo(actor)).where(isManagedBy(actor.id)),
      filter,
    );
  }

  /** Counts a use; a link that is revoked meanwhile is counted no more. */
  async count(id: string, counter: Counter, by: number): Promise<void> {
    const column = sql.ref(counter);
    await sql`
      update share_link set ${column} = ${column} + ${by}, last_opened_at = now() where id = ${id}`.execute(
      this.database.tables(),
    );
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    const { numDeletedRows } = await unit
      .tables<Tables>()
      .deleteFrom('share_link')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw new NotFound('No such share link');
  }

  private pageOf(
    query: ReturnType<ShareLinksStore['asked']>,
    { after, limit }: { after?: string; limit: number },
  ): Promise<AskedLinkRow[]> {
    return (after ? query.where('s.id', '>', after) : query).orderBy('s.id').limit(limit).execute();
  }

  private links(within: Queries) {
    return within
      .tables<Tables>()
      .selectFrom('share_link as s')
      .innerJoin('workspace as w', 'w.id', 's.workspace_id')
      .leftJoin('membership as cm', join =>
        join
          .onRef('cm.organization_id', '=', 'w.organization_id')
          .onRef('cm.principal_id', '=', 's.created_by'),
      )
      .leftJoin('workspace_member as cwm', join =>
        join.onRef('cwm.workspace_id', '=', 'w.id').onRef('cwm.principal_id', '=', 's.created_by'),
      )
      .selectAll('s')
      .select([
        'w.number as workspace_number',
        'w.name as workspace_name',
        'w.organization_id',
        'w.visibility',
        'w.features_off',
        'w.created_by as workspace_created_by',
        'cm.role as giver_organization_role',
        'cwm.role as giver_workspace_role',
      ])
      .$castTo<LinkRow>();
  }

  private asked(actor: Actor, within: Queries) {
    const { organization_id, workspace_ids } = actor.credential;
    let query = this.links(within)
      .innerJoin('membership as m', join =>
        join.onRef('m.organization_id', '=', 'w.organization_id').on('m.principal_id', '=', actor.id),
      )
      .leftJoin('workspace_member as wm', join =>
        join.onRef('wm.workspace_id', '=', 'w.id').on('wm.principal_id', '=', actor.id),
      )
      .select(['m.role as organization_role', 'wm.role as workspace_role']);
    if (organization_id) query = query.where('w.organization_id', '=', organization_id);
    if (workspace_ids) query = query.where(sql<boolean>`w.id = any(${[...workspace_ids]}::uuid[])`);
    return query.$castTo<AskedLinkRow>();
  }
}
