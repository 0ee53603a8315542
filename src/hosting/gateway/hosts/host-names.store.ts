import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import type { HostedKind } from './hosting-domain.js';

/** How long the slug of a deleted target stays reserved for its workspace. */
const RESERVED_DAYS = 30;

export type NamedTarget = Pick<Row<'host_name'>, 'kind' | 'target_id'>;

const nameOf = (kind: HostedKind, slug: string) => `${slug}.${kind}s`;

declare global {
  interface ColumnTypes {
    'host_name.kind': 'site' | 'server';
  }
}

@Injectable()
export class HostNamesStore {
  constructor(private readonly database: Database) {}

  async targetOfSlug(kind: HostedKind, slug: string): Promise<NamedTarget | undefined> {
    const { rows } = await sql<NamedTarget>`
      select kind, target_id from host_name
      where source = 'slug' and name = ${nameOf(kind, slug)} and state = 'active' and workspace_id is not null`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  async targetOfHost(host: string): Promise<NamedTarget | undefined> {
    const { rows } = await sql<NamedTarget>`
      select kind, target_id from host_name
      where source = 'custom' and name = ${host} and state = 'verified' and workspace_id is not null`.execute(
      this.database.tables(),
    );
    return rows[0];
  }

  /** False if the slug is taken, or reserved for another workspace. */
  async claimSlug(
    unit: UnitOfWork,
    slug: string,
    { kind, targetId, workspaceId }: { kind: HostedKind; targetId: string; workspaceId: string },
  ): Promise<boolean> {
    const { rows } = await sql`
      insert into host_name (source, name, kind, target_id, workspace_id, state)
      values ('slug', ${nameOf(kind, slug)}, ${kind}, ${targetId}, ${workspaceId}, 'active')
      on conflict (name) where source = 'slug' do update set
        target_id = excluded.target_id, workspace_id = excluded.workspace_id, state = 'active', released_at = null,
        created_at = now()
      where host_name.target_id = excluded.target_id
        or (host_name.released_at is not null and (host_name.workspace_id = excluded.workspace_id
          or host_name.released_at < now() - make_interval(days => ${RESERVED_DAYS})))
      returning name`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Releases the slugs of a target except `kept`. Other workspaces cannot claim them for a while. */
  async releaseSlugs(unit: UnitOfWork, kind: HostedKind, targetId: string, kept?: string): Promise<void> {
    const keptName = kept === undefined ? '' : nameOf(kind, kept);
    await sql`
      update host_name set state = 'released', released_at = now()
      where kind = ${kind} and target_id = ${targetId} and source = 'slug' and state = 'active' and name <> ${keptName}`.execute(
      unit.tables(),
    );
  }

  async removeCustom(unit: UnitOfWork, kind: HostedKind, targetId: string): Promise<void> {
    await sql`
      delete from host_name where kind = ${kind} and target_id = ${targetId} and source = 'custom'`.execute(
      unit.tables(),
    );
  }

  /** For deleted workspaces: slugs become reserved, custom hosts are removed. */
  async releaseOrphans(): Promise<void> {
    await sql`
      with custom as (delete from host_name where source = 'custom' and workspace_id is null)
      update host_name set state = 'released', released_at = now()
      where source = 'slug' and workspace_id is null and released_at is null`.execute(this.database.tables());
  }

  async forgetReleased(): Promise<void> {
    await sql`
      delete from host_name where released_at < now() - make_interval(days => ${RESERVED_DAYS})`.execute(
      this.database.tables(),
    );
  }
}
