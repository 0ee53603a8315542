import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type Actor,
  type Feature,
  type OrganizationRole,
  organizationsOf,
  requireInWorkspace,
  SharedLookups,
  visibleTo,
  type WorkspaceAccess,
  type WorkspacePermission,
  type WorkspaceRole,
  workspaceAccessTopic,
  workspacesOf,
} from '../../platform/access/index.js';
import { type Roles, Subject } from '../../platform/actions/index.js';
import { Database, iso, newId, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { addLogContext } from '../../platform/log/index.js';
import { defineTopic, Topics } from '../../platform/topics/index.js';
import type { WorkspaceView } from './workspaces.dto.js';

/**
 * Workspaces come, go or are renamed for an organization, a person or a service account. Triggers of the database publish it
 * (on workspace, workspace_member and membership), so that no way in forgets it.
 */
export const workspacesTopic = defineTopic('workspaces');

declare global {
  interface ColumnTypes {
    'workspace.features_off': Feature[];
  }
}

type Queries = Pick<Database, 'tables'>;

const noSuchWorkspace = () => new NotFound('No such workspace');

/** A workspace of the caller's organizations, with their role there: null where they do not see it. */
type FoundWorkspace = Row<'workspace'> & { role: WorkspaceRole | null };

export type VisibleWorkspace = Row<'workspace'> & { role: WorkspaceRole };

@Injectable()
export class WorkspacesStore {
  private readonly lookups = new SharedLookups<FoundWorkspace | undefined>();

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  /** 404 where the caller does not see it; 403 where their role or key is too low, or the feature is turned off. */
  @Subject('workspace', 'workspace', ({ id, organization_id }: VisibleWorkspace) => ({
    workspace_id: id,
    organization_id,
  }))
  async require(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
    within: Queries = this.database,
  ): Promise<VisibleWorkspace> {
    const row = await this.find(actor, id, within);
    if (!row?.role) throw noSuchWorkspace();
    addLogContext({ workspace_id: id });
    const workspace = { ...row, role: row.role };
    requireInWorkspace(actor, permission, workspace);
    return workspace;
  }

  /** As {@link require}, and locks the row until the unit of work ends. */
  async requireLocked(
    unit: UnitOfWork,
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
  ): Promise<Row<'workspace'>> {
    await this.require(actor, permission, id, unit);
    const query = unit.tables().selectFrom('workspace').selectAll().where('id', '=', id).forUpdate();
    return query.executeTakeFirstOrThrow(noSuchWorkspace);
  }

  add(
    unit: UnitOfWork,
    fields: Pick<Row<'workspace'>, 'organization_id' | 'name' | 'visibility' | 'created_by'>,
  ): Promise<Row<'workspace'>> {
    const now = new Date();
    const row = { id: newId(), ...fields, created_at: now, updated_at: now };
    return unit.tables().insertInto('workspace').values(row).returningAll().executeTakeFirstOrThrow();
  }

  async update(
    unit: UnitOfWork,
    id: string,
    changes: Partial<Pick<Row<'workspace'>, 'name' | 'visibility' | 'features_off'>>,
  ): Promise<void> {
    const values = { ...changes, updated_at: new Date().toISOString() };
    await unit.tables().updateTable('workspace').set(values).where('id', '=', id).execute();
    // Triggers tell other processes; this one knows before the caller's next request.
    if (changes.visibility || changes.features_off)
      await this.topics.publishWithCommit(unit, workspaceAccessTopic(id));
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    await unit.tables().deleteFrom('workspace').where('id', '=', id).execute();
  }

  /** Oldest first, after id `after`. */
  list(
    actor: Actor,
    { organization_id, ...page }: PageInput & { organization_id?: string },
  ): Promise<Page<VisibleWorkspace>> {
    const visible = visibleTo<Row<'workspace'>>(actor).as('w');
    const query = this.database.tables().selectFrom(visible).selectAll('w');
    const found = organization_id ? query.where('w.organization_id', '=', organization_id) : query;
    return selectPage(found, page, { by: 'w.id' });
  }

  /** For background work. */
  async folderOf(id: string): Promise<Pick<Row<'workspace'>, 'id' | 'number'> | undefined> {
    return this.database
      .tables()
      .selectFrom('workspace')
      .select(['id', 'number'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  async idsOf(unit: UnitOfWork, organizationId: string): Promise<string[]> {
    const rows = await unit
      .tables()
      .selectFrom('workspace')
      .select('id')
      .where('organization_id', '=', organizationId)
      .execute();
    return rows.map(({ id }) => id);
  }

  async allIds(): Promise<string[]> {
    const rows = await this.database.tables().selectFrom('workspace').select('id').orderBy('id').execute();
    return rows.map(({ id }) => id);
  }

  async isOff(id: string, feature: Feature): Promise<boolean> {
    const { rows } = await sql`
      select from workspace where id = ${id} and ${feature} = any(features_off)`.execute(
      this.database.tables(),
    );
    return rows.length > 0;
  }

  async copyFeatures(unit: UnitOfWork, from: string, to: string): Promise<void> {
    await sql`
      update workspace set features_off = source.features_off from workspace source
      where workspace.id = ${to} and source.id = ${from}`.execute(unit.tables());
  }

  /** Those after `after` without an entry for the storage of this hour. */
  unmeasured(hour: Date, after: string | null, limit: number) {
    return this.database
      .tables()
      .selectFrom('workspace as w')
      .select(['w.id', 'w.organization_id'])
      .where(sql<boolean>`(${after}::uuid is null or w.id > ${after}::uuid) and not exists (
        select 1 from usage_entry u
        where u.workspace_id = w.id and u.time = ${hour.toISOString()}::timestamptz and u.kind = 'storage_byte_hours')`)
      .orderBy('w.id')
      .limit(limit)
      .execute();
  }

  /** Each combination once. */
  async rolesOf(actor: Actor): Promise<Roles> {
    const tables = this.database.tables();
    const [organizations, workspaces] = await Promise.all([
      sql<{ role: OrganizationRole }>`select distinct role from ${organizationsOf(actor)} o`.execute(tables),
      sql<WorkspaceAccess>`
        select distinct role, features_off from ${workspacesOf(actor)} w where role is not null`.execute(
        tables,
      ),
    ]);
    return { organization: organizations.rows.map(({ role }) => role), workspace: workspaces.rows };
  }

  /** The first process decides for all. */
  async sandboxUidBase(chosen: number): Promise<number> {
    const { rows } = await sql<{ base: string }>`
      update installation set sandbox_uid_base = coalesce(sandbox_uid_base, ${chosen})
      returning sandbox_uid_base as base`.execute(this.database.tables());
    return Number(rows[0]?.base);
  }

  /** Nearly every request calls this: outside a transaction, concurrent callers share the answer. */
  private async find(actor: Actor, id: string, within: Queries): Promise<FoundWorkspace | undefined> {
    const read = async () => {
      const query = sql<FoundWorkspace>`select * from ${workspacesOf(actor)} w where id = ${id}`;
      return (await query.execute(within.tables())).rows[0];
    };
    if (within !== this.database) return read();
    const { organization_id, workspace_ids } = actor.credential;
    return this.lookups.get(JSON.stringify([id, actor.id, organization_id, workspace_ids]), read);
  }
}

export function workspaceView(row: VisibleWorkspace): WorkspaceView {
  const { id, organization_id, name, visibility, role, created_by } = row;
  const times = { created_at: iso(row.created_at), updated_at: iso(row.updated_at) };
  return { id, organization_id, name, visibility, role, created_by, ...times };
}
