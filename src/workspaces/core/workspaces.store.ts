import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type Actor,
  requireInWorkspace,
  SharedLookups,
  visibleTo,
  type WorkspacePermission,
  type WorkspaceRole,
  workspacesOf,
} from '../../platform/access/index.js';
import { Subject } from '../../platform/actions/index.js';
import { Database, iso, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { addLogContext } from '../../platform/log/index.js';
import { Workspace } from './workspace.entity.js';
import type { WorkspaceView } from './workspaces.dto.js';

/** A workspace of the caller's organizations; without a role they do not see it. */
type FoundWorkspace = Row<'workspace'> & { role: WorkspaceRole | null };

type Queries = Pick<Database, 'tables'>;

const noSuchWorkspace = () => new NotFound('No such workspace');

/** A workspace as one caller sees it. */
export type VisibleWorkspace = Row<'workspace'> & { role: WorkspaceRole };

/** Questions about workspaces, each asked together with who asks. */
@Injectable()
export class WorkspacesStore {
  private readonly lookups = new SharedLookups<FoundWorkspace | undefined>();

  constructor(private readonly database: Database) {}

  /**
   * The workspace, if the caller may: 404 where they do not see it, 403 where their role or key is too low, or what they
   * want to use is turned off there.
   */
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

  /** As {@link require}, for a change: nobody else changes or deletes it before the unit of work ends. */
  async requireEntity(
    unit: UnitOfWork,
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
  ): Promise<Workspace> {
    await this.require(actor, permission, id, unit);
    const workspace = await unit.entities.findOne(
      Workspace,
      { id },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!workspace) throw noSuchWorkspace();
    return workspace;
  }

  /** The workspaces that the caller sees, oldest first, from after `after`. */
  list(
    actor: Actor,
    filter: { organizationId?: string; after?: string; limit: number },
  ): Promise<VisibleWorkspace[]> {
    let query = this.database
      .tables()
      .selectFrom(visibleTo<Row<'workspace'>>(actor).as('w'))
      .selectAll('w')
      .orderBy('w.id')
      .limit(filter.limit);
    if (filter.organizationId) query = query.where('w.organization_id', '=', filter.organizationId);
    if (filter.after) query = query.where('w.id', '>', filter.after);
    return query.execute();
  }

  /** What its folder is known by, for work that nobody asks for. */
  async folderOf(id: string): Promise<Pick<Workspace, 'id' | 'number'> | undefined> {
    return this.database
      .tables()
      .selectFrom('workspace')
      .select(['id', 'number'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** The workspaces that go with an organization. */
  async idsOf(unit: UnitOfWork, organizationId: string): Promise<string[]> {
    const rows = await unit
      .tables()
      .selectFrom('workspace')
      .select('id')
      .where('organization_id', '=', organizationId)
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Asked by nearly every request: outside a transaction, those who ask at the same time share the answer. */
  private find(actor: Actor, id: string, within: Queries): Promise<FoundWorkspace | undefined> {
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
