import { Injectable } from '@nestjs/common';
import { type Insertable, sql } from 'kysely';
import { Database, type Row, type Schema, type UnitOfWork } from '../../../platform/database/index.js';
import { ALLOWANCES, type Asker, type LinkRow, OpenLink, PublicLinksStore } from '../../exposure/index.js';

/** Visits of a link that are yet to be added to it. */
export type LinkUses = Pick<Row<'share_link'>, 'id' | 'views' | 'downloads'> & { last_opened_at: Date };

export interface ShareLinkRow extends Row<'share_link'>, Omit<LinkRow, keyof Row<'share_link'>> {}

export interface AskedShareLinkRow extends ShareLinkRow, Asker {}

export const SHARE_LINK = new OpenLink<ShareLinkRow>(
  { name: 'share', noun: 'share link', needs: ({ allow }) => ALLOWANCES[allow].needs },
  { give: 'share.manage', end: 'share.manage' },
  { prefix: 's', noun: 'link', failure: 'This did not work' },
);

@Injectable()
export class ShareLinksStore extends PublicLinksStore<ShareLinkRow, AskedShareLinkRow> {
  protected readonly table = 'share_link';
  protected readonly link = SHARE_LINK;

  constructor(database: Database) {
    super(database);
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
    if ((await query.executeTakeFirst()).numUpdatedRows === 0n) throw this.link.missing();
  }
}
