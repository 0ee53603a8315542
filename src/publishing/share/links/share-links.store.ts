import { Injectable } from '@nestjs/common';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import {
  type Actor,
  isReachableBy,
  type OrganizationRole,
  roleOf,
  rolesWith,
  visibleTo,
  type WorkspacePermission,
  type WorkspaceRole,
  workspacesOf,
} from '../../../platform/access/index.js';
import { Database, type Row, type Schema, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, selectPage } from '../../../platform/dto/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import type { ListAcrossWorkspaces } from '../../../workspaces/core/index.js';
import { ALLOWANCES, type Allowance, type GiverStanding } from '../../exposure/index.js';

type Queries = Pick<Database, 'tables'>;

/** Visits of a link that are yet to be added to it. */
export type LinkUses = Pick<Row<'share_link'>, 'id' | 'views' | 'downloads'> & { last_opened_at: Date };

/** A link with its workspace, and what decides whether it still stands. */
export interface LinkRow extends Row<'share_link'>, GiverStanding {
  workspace_number: number;
  workspace_name: string;
  organization_id: string;
}

/** A link, and who asks for it. */
export interface AskedLinkRow extends LinkRow {
  organization_role: OrganizationRole;
  /** null where they do not see the workspace. */
  role: WorkspaceRole | null;
}

/** What people must be allowed to do themselves to let others do it. */
export const reachOf = (allow: Allowance): WorkspacePermission => ALLOWANCES[allow].needs;

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

  /** Links in workspaces that the caller sees, oldest first. */
  list(actor: Actor, { workspace_id, ...page }: ListAcrossWorkspaces): Promise<Page<AskedLinkRow>> {
    const all = this.asked(actor, this.database, visibleTo(actor));
    const query = workspace_id ? all.where('s.workspace_id', '=', workspace_id) : all;
    return selectPage(query, page, { by: 's.id' });
  }

  /** Those of one organization that the caller may manage; with `all`, also in workspaces that they do not see. */
  listOfOrganization(
    actor: Actor,
    filter: { organizationId: string; all: boolean; after?: string; limit: number },
  ): Promise<AskedLinkRow[]> {
    const query = filter.all
      ? this.asked(actor, this.database).where(isReachableBy(actor))
      : this.asked(actor, this.database, visibleTo(actor)).where(
          sql.ref('w.role'),
          'in',
          rolesWith('share.manage'),
        );
    return this.pageOf(query.where('w.organization_id', '=', filter.organizationId), filter);
  }

  /** Adds up visits, in the order of ids, so that two processes never wait for each other; links that are gone are left out. */
  async addUses(uses: LinkUses[]): Promise<void> {
    const ids = uses.map(({ id }) => id);
    const views = uses.map(use => use.views);
    const downloads = uses.map(use => use.downloads);
    const opened = uses.map(use => use.last_opened_at.toISOString());
    await sql`
      with locked as (
        select id from share_link where id = any(${ids}::uuid[]) order by id for no key update
      )
      update share_link s set views = s.views + u.views, downloads = s.downloads + u.downloads,
        last_opened_at = greatest(s.last_opened_at, u.opened)
      from locked, unnest(${ids}::uuid[], ${views}::int[], ${downloads}::int[], ${opened}::timestamptz[])
        as u(id, views, downloads, opened)
      where s.id = locked.id and u.id = locked.id`.execute(this.database.tables());
  }

  /** Counts files that were handed in; a link that is revoked meanwhile is counted no more. */
  async countUploads(unit: UnitOfWork, id: string, files: number): Promise<void> {
    await sql`
      update share_link set uploads = uploads + ${files}, last_opened_at = now() where id = ${id}`.execute(
      unit.tables(),
    );
  }

  async add(
    unit: UnitOfWork,
    row: Omit<Insertable<Schema['share_link']>, 'created_at' | 'updated_at'>,
  ): Promise<void> {
    const now = new Date();
    await unit
      .tables()
      .insertInto('share_link')
      .values({ ...row, created_at: now, updated_at: now })
      .execute();
  }

  async update(
    unit: UnitOfWork,
    id: string,
    changes: Partial<Pick<Row<'share_link'>, 'allow' | 'expires_at' | 'password_hash'>>,
  ): Promise<void> {
    const values = { ...changes, updated_at: new Date().toISOString() };
    const query = unit.tables().updateTable('share_link').set(values).where('id', '=', id);
    if ((await query.executeTakeFirst()).numUpdatedRows === 0n) throw new NotFound('No such share link');
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    const { numDeletedRows } = await unit
      .tables()
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

  private links(within: Queries, workspaces: RawBuilder<Row<'workspace'>> = sql`workspace`) {
    return within
      .tables()
      .selectFrom('share_link as s')
      .innerJoin(workspaces.as('w'), 'w.id', 's.workspace_id')
      .selectAll('s')
      .select([
        'w.number as workspace_number',
        'w.name as workspace_name',
        'w.organization_id',
        'w.features_off',
      ])
      .select(roleOf(sql.ref('s.created_by')).as('giver_role'))
      .$castTo<LinkRow>();
  }

  private asked(actor: Actor, within: Queries, workspaces = workspacesOf<Row<'workspace'>>(actor)) {
    return this.links(within, workspaces)
      .select([sql.ref('w.role').as('role'), sql.ref('w.organization_role').as('organization_role')])
      .$castTo<AskedLinkRow>();
  }
}
