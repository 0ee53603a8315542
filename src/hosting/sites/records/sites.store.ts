import { Injectable } from '@nestjs/common';
import { type Insertable, sql } from 'kysely';
import type { Actor } from '../../../platform/access/index.js';
import { Database, type Row, type Schema, type UnitOfWork } from '../../../platform/database/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';
import { HostedStore } from '../../gateway/index.js';

export const siteTopic = defineTopic('site');

export interface SiteRow extends Row<'site'> {
  readonly organization_id: string;
  readonly workspace_number: number;
  readonly live_number: number | null;
}

export type SiteChanges = Partial<
  Pick<
    Row<'site'>,
    | 'slug'
    | 'name'
    | 'folder'
    | 'preset'
    | 'install_command'
    | 'build_command'
    | 'output_dir'
    | 'spa'
    | 'node_memory'
    | 'actions'
    | 'actions_public'
    | 'actions_actor'
    | 'paused_at'
    | 'pause_reason'
    | 'locked_at'
    | 'locked_by'
    | 'lock_reason'
  >
>;

declare global {
  interface ColumnTypes {
    'site.actions_actor': Actor | null;
  }
}

@Injectable()
export class SitesStore extends HostedStore<SiteRow> {
  protected readonly kind = 'site';
  protected override readonly joined = sql`left join site_version live on live.id = s.live_version_id`;
  protected override readonly added = sql`, live.number as live_number`;

  constructor(
    database: Database,
    private readonly topics: Topics,
  ) {
    super(database);
  }

  async add(
    unit: UnitOfWork,
    row: Omit<Insertable<Schema['site']>, 'created_at' | 'updated_at'>,
  ): Promise<void> {
    const now = new Date();
    await unit
      .tables()
      .insertInto('site')
      .values({ ...row, created_at: now, updated_at: now })
      .execute();
  }

  async update(unit: UnitOfWork, id: string, changes: SiteChanges): Promise<void> {
    const values = { ...changes, updated_at: new Date().toISOString() };
    await unit.tables().updateTable('site').set(values).where('id', '=', id).execute();
    await this.changed(unit, id);
  }

  /** Running builds of the site notice, and end. */
  async remove(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('site').where('id', '=', id).execute();
    await this.changed(unit, id);
  }

  async nextNumber(unit: UnitOfWork, id: string): Promise<number> {
    const { rows } = await sql<{ last_number: number }>`
      update site set last_number = last_number + 1, updated_at = now() where id = ${id} returning last_number`.execute(
      unit.tables(),
    );
    const [row] = rows;
    if (!row) throw new NotFound('No such site');
    return row.last_number;
  }

  async setLive(unit: UnitOfWork, id: string, versionId: string, reason: string): Promise<void> {
    await sql`
      with before as (
        update site_version v set retired_at = now() from site s
        where s.id = ${id} and v.id = s.live_version_id and v.id <> ${versionId}
      ), now_live as (
        update site_version set promotion = 'done', promotion_reason = ${reason}, promoted_at = now(), retired_at = null
        where id = ${versionId}
      )
      update site set live_version_id = ${versionId}, updated_at = now() where id = ${id}`.execute(
      unit.tables(),
    );
    await this.changed(unit, id);
  }

  async known(ids: readonly string[]): Promise<Set<string>> {
    const { rows } = await sql<{
      id: string;
    }>`select id from site where id = any(${[...ids]}::uuid[])`.execute(this.database.tables());
    return new Set(rows.map(({ id }) => id));
  }

  async changed(unit: UnitOfWork, id: string): Promise<void> {
    await this.topics.publishWithCommit(unit, siteTopic(id));
  }
}
