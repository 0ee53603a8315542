import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { FoundSecret } from '#libs/secret-scan/index.js';
import {
  type Actor,
  type Chain,
  isAmong,
  organizationsOf,
  workspacesOf,
} from '../../../platform/access/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, readPage } from '../../../platform/dto/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import type { Manifest } from './manifest.js';

export const TEMPLATE_VISIBILITIES = ['workspace_admins', 'org', 'installation'] as const;
export type TemplateVisibility = (typeof TEMPLATE_VISIBILITIES)[number];
export const VERSION_STATES = ['publishing', 'published', 'blocked'] as const;
type VersionState = (typeof VERSION_STATES)[number];

declare global {
  interface ColumnTypes {
    'template.visibility': TemplateVisibility;
    'template_version.state': VersionState;
    'template_version.manifest': Partial<Manifest>;
    'template_version.findings': FoundSecret[];
    'template_version.skipped': string[];
    'template_version.chain': Chain;
  }
}

export type VersionRow = Row<'template_version'>;
export interface TemplateRow extends Row<'template'> {
  readonly latest: number | null;
  readonly latest_manifest: Partial<Manifest> | null;
  /** The caller is an admin of its workspace. */
  readonly is_publisher: boolean;
}
/** What was copied for a version, before anybody sees it. */
export interface CopiedVersion {
  readonly manifest: Manifest;
  readonly findings: readonly FoundSecret[];
  readonly skipped: readonly string[];
  readonly files: number;
  readonly bytes: number;
}

type Queries = Pick<Database, 'tables'>;

@Injectable()
export class TemplatesStore {
  constructor(private readonly database: Database) {}

  /** Templates that the caller sees, oldest first. */
  list(
    actor: Actor,
    { organization_id, q, ...page }: PageInput & { organization_id?: string; q?: string },
  ): Promise<Page<TemplateRow>> {
    const like = q && `%${q.replace(/[\\%_]/g, '\\$&')}%`;
    return readPage({ by: 'id' }, page, ({ after, limit }) =>
      this.visible(
        actor,
        sql`${organization_id ? sql`t.organization_id = ${organization_id}` : sql`true`}
          and ${after ? sql`t.id > ${after}` : sql`true`}
          and ${like ? sql`(t.name ilike ${like} or t.slug ilike ${like} or t.description ilike ${like})` : sql`true`}`,
        sql`order by t.id limit ${limit}`,
      ),
    );
  }

  /** 404 where the caller does not see it. */
  async require(actor: Actor, id: string): Promise<TemplateRow> {
    const row = await this.find(actor, id);
    if (!row) throw new NotFound('No such template');
    return row;
  }

  /** Nothing where the caller does not see it. */
  async find(actor: Actor, id: string): Promise<TemplateRow | undefined> {
    const [row] = await this.visible(actor, sql`t.id = ${id}`, sql``);
    return row;
  }

  /** Newest first. */
  versions(templateId: string, within: Queries = this.database): Promise<VersionRow[]> {
    const query = within.tables().selectFrom('template_version').selectAll();
    return query.where('template_id', '=', templateId).orderBy('number', 'desc').execute();
  }

  version(id: string, within: Queries = this.database): Promise<VersionRow | undefined> {
    const query = within.tables().selectFrom('template_version').selectAll();
    return query.where('id', '=', id).executeTakeFirst();
  }

  ofWorkspace(unit: UnitOfWork, workspaceId: string): Promise<Row<'template'>[]> {
    const query = unit.tables().selectFrom('template').selectAll();
    return query.where('workspace_id', '=', workspaceId).orderBy('id').execute();
  }

  bySlug(unit: UnitOfWork, organizationId: string, slug: string): Promise<Row<'template'> | undefined> {
    const query = unit.tables().selectFrom('template').selectAll();
    return query.where('organization_id', '=', organizationId).where('slug', '=', slug).executeTakeFirst();
  }

  /** Nothing where the slug is taken. */
  async add(
    unit: UnitOfWork,
    fields: Omit<Row<'template'>, 'id' | 'created_at' | 'updated_at'>,
  ): Promise<Row<'template'> | undefined> {
    const now = new Date();
    const row = { id: newId(), ...fields, created_at: now, updated_at: now };
    const query = unit.tables().insertInto('template').values(row).returningAll();
    return query
      .onConflict(conflict => conflict.columns(['organization_id', 'slug']).doNothing())
      .executeTakeFirst();
  }

  async update(
    unit: UnitOfWork,
    id: string,
    changes: Partial<Pick<Row<'template'>, 'name' | 'description' | 'visibility'>>,
  ): Promise<void> {
    const values = { ...changes, updated_at: new Date().toISOString() };
    await unit.tables().updateTable('template').set(values).where('id', '=', id).execute();
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('template').where('id', '=', id).execute();
  }

  async idsOf(unit: UnitOfWork, organizationId: string): Promise<string[]> {
    const query = unit
      .tables()
      .selectFrom('template')
      .select('id')
      .where('organization_id', '=', organizationId);
    return (await query.execute()).map(({ id }) => id);
  }

  /** With the next number: publishers of one template take turns. */
  async addVersion(
    unit: UnitOfWork,
    id: string,
    templateId: string,
    { id: by, chain }: Pick<Actor, 'id' | 'chain'>,
  ): Promise<number> {
    await sql`select from template where id = ${templateId} for update`.execute(unit.tables());
    const { rows } = await sql<{ number: number }>`
      insert into template_version (id, template_id, number, state, published_by, chain, created_at)
      select ${id}, ${templateId}, coalesce(max(number), 0) + 1, 'publishing', ${by},
        ${chain ? JSON.stringify(chain) : null}::jsonb, now()
      from template_version where template_id = ${templateId} returning number`.execute(unit.tables());
    return rows[0]?.number ?? 0;
  }

  async keepOrigin(unit: UnitOfWork, origin: Row<'workspace_origin'>): Promise<void> {
    await unit.tables().insertInto('workspace_origin').values(origin).execute();
  }

  originOf(workspaceId: string): Promise<Row<'workspace_origin'> | undefined> {
    const query = this.database.tables().selectFrom('workspace_origin').selectAll();
    return query.where('workspace_id', '=', workspaceId).executeTakeFirst();
  }

  /** Published as the next version of a template that comes with the service, unless it is there. */
  async addBuiltin(
    unit: UnitOfWork,
    template: Pick<Row<'template'>, 'id' | 'slug' | 'name' | 'description'>,
    version: { id: string; manifest: Manifest; files: number; bytes: number },
  ): Promise<void> {
    const { id, slug, name, description } = template;
    await sql`
      insert into template (id, slug, name, description, visibility, created_at, updated_at)
      values (${id}, ${slug}, ${name}, ${description}, 'installation', now(), now())
      on conflict (id) do update set name = excluded.name, description = excluded.description, updated_at = now()`.execute(
      unit.tables(),
    );
    await sql`
      insert into template_version (id, template_id, number, state, manifest, files, bytes, created_at)
      select ${version.id}, ${id}, coalesce(max(number), 0) + 1, 'published',
        ${JSON.stringify(version.manifest)}::jsonb, ${version.files}, ${version.bytes}, now()
      from template_version where template_id = ${id}
      on conflict (id) do nothing`.execute(unit.tables());
  }

  /** Unless it is settled. */
  async keepCopied(id: string, copied: CopiedVersion): Promise<void> {
    await sql`
      update template_version set manifest = ${JSON.stringify(copied.manifest)}::jsonb,
        findings = ${JSON.stringify(copied.findings)}::jsonb, skipped = ${JSON.stringify(copied.skipped)}::jsonb,
        files = ${copied.files}, bytes = ${copied.bytes}
      where id = ${id} and state = 'publishing'`.execute(this.database.tables());
  }

  async settle(unit: UnitOfWork, id: string, state: 'published' | 'blocked'): Promise<void> {
    await sql`update template_version set state = ${state} where id = ${id}`.execute(unit.tables());
  }

  /** Also the template, where it has no other version. */
  async removeVersion(
    unit: UnitOfWork,
    { id, template_id }: { id: string; template_id: string },
  ): Promise<void> {
    await sql`select from template where id = ${template_id} for update`.execute(unit.tables());
    await sql`delete from template_version where id = ${id}`.execute(unit.tables());
    await sql`
      delete from template t where id = ${template_id}
        and not exists (select from template_version v where v.template_id = t.id)`.execute(unit.tables());
  }

  /** Bytes of what the workspace has published. */
  async bytesOf(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ bytes: number }>`
      select coalesce(sum(v.bytes), 0)::float8 as bytes from template t
      join template_version v on v.template_id = t.id and v.state <> 'blocked'
      where t.workspace_id = ${workspaceId}`.execute(this.database.tables());
    return rows[0]?.bytes ?? 0;
  }

  /** Others than its publishers see a template once a version is published. */
  private async visible(
    actor: Actor,
    which: RawBuilder<unknown>,
    order: RawBuilder<unknown>,
  ): Promise<TemplateRow[]> {
    const isPublisher = sql`exists (
      select from ${workspacesOf(actor)} pw where pw.id = t.workspace_id and pw.role = 'admin')`;
    const isMember = sql`t.organization_id in (
      select o.organization_id from ${organizationsOf(actor)} o where o.role <> 'guest')`;
    const isReached = sql`(t.organization_id is null or ${isAmong('t.workspace_id', actor.credential.workspace_ids)})`;
    const { rows } = await sql<TemplateRow>`
      select * from (
        select t.*, ${isPublisher} as is_publisher, l.number as latest, l.manifest as latest_manifest,
          ${isMember} as is_member
        from template t
        left join lateral (
          select number, manifest from template_version v
          where v.template_id = t.id and v.state = 'published' order by number desc limit 1) l on true
        where ${which} and ${isReached}) t
      where is_publisher or (latest is not null and (
        visibility = 'installation' or (visibility = 'org' and is_member)))
      ${order}`.execute(this.database.tables());
    return rows;
  }
}
