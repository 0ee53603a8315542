import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Membership } from '../../identity/organizations/index.js';
import {
  type Actor,
  type OrganizationRole,
  requireInWorkspace,
  SharedLookups,
  type WorkspacePermission,
  type WorkspaceRole,
  workspaceRole,
} from '../../platform/access/index.js';
import { Subject } from '../../platform/actions/index.js';
import { Database, iso, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { addLogContext } from '../../platform/log/index.js';
import { isVisibleTo } from './visible.js';
import { Workspace } from './workspace.entity.js';
import type { WorkspaceMember } from './workspace-member.entity.js';
import type { WorkspaceView } from './workspaces.dto.js';

type WorkspaceTables = {
  workspace: Workspace;
  workspace_member: WorkspaceMember;
  membership: Membership;
};
type StandingRow = Row<Workspace> & {
  organization_role: OrganizationRole;
  workspace_role: WorkspaceRole | null;
};

type Queries = Pick<Database, 'tables'>;

const noSuchWorkspace = () => new NotFound('No such workspace');

/** A workspace as one caller sees it. */
export type VisibleWorkspace = Row<Workspace> & { role: WorkspaceRole };

/** Questions about workspaces, each asked together with who asks. */
@Injectable()
export class WorkspacesStore {
  private readonly standingsUnderWay = new SharedLookups<StandingRow | undefined>();

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
    const row = await this.standing(actor, id, within === this.database ? undefined : within);
    const role = row && workspaceRole(actor.id, row);
    if (!row || !role) throw noSuchWorkspace();
    addLogContext({ workspace_id: id });
    const workspace = { ...row, role };
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
  async list(
    actor: Actor,
    filter: { organizationId?: string; after?: string; limit: number },
  ): Promise<VisibleWorkspace[]> {
    let query = this.standings(actor, this.database).orderBy('w.id').limit(filter.limit);
    if (filter.organizationId) query = query.where('w.organization_id', '=', filter.organizationId);
    if (filter.after) query = query.where('w.id', '>', filter.after);
    const rows = await query.where(isVisibleTo(actor)).execute();
    return rows.flatMap(row => {
      const role = workspaceRole(actor.id, row);
      return role ? [{ ...row, role }] : [];
    });
  }

  /** What its folder is known by, for work that nobody asks for. */
  async folderOf(id: string): Promise<Pick<Workspace, 'id' | 'number'> | undefined> {
    return this.database
      .tables<WorkspaceTables>()
      .selectFrom('workspace')
      .select(['id', 'number'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** The workspaces that go with an organization. */
  async idsOf(unit: UnitOfWork, organizationId: string): Promise<string[]> {
    const rows = await unit
      .tables<WorkspaceTables>()
      .selectFrom('workspace')
      .select('id')
      .where('organization_id', '=', organizationId)
      .execute();
    return rows.map(({ id }) => id);
  }

  /** As {@link standings}, of one workspace; outside a transaction those who ask at the same time share the answer. */
  private standing(actor: Actor, id: string, within: Queries | undefined): Promise<StandingRow | undefined> {
    if (within) return this.readStanding(actor, id, within);
    const { organization_id, workspace_ids } = actor.credential;
    const key = JSON.stringify([id, actor.id, organization_id, workspace_ids]);
    return this.standingsUnderWay.get(key, () => this.readStanding(actor, id, this.database));
  }

  /** Asked by nearly every request, so as plain as can be. */
  private async readStanding(actor: Actor, id: string, within: Queries): Promise<StandingRow | undefined> {
    const { organization_id, workspace_ids } = actor.credential;
    const { rows } = await sql<StandingRow>`
      select w.*, m.role as organization_role, wm.role as workspace_role from workspace w
      join membership m on m.organization_id = w.organization_id and m.principal_id = ${actor.id}
      left join workspace_member wm on wm.workspace_id = w.id and wm.principal_id = ${actor.id}
      where w.id = ${id} and (${organization_id}::uuid is null or w.organization_id = ${organization_id})
        and (${workspace_ids ? [...workspace_ids] : null}::uuid[] is null or w.id = any(${workspace_ids ? [...workspace_ids] : null}::uuid[]))`.execute(
      within.tables(),
    );
    return rows[0];
  }

  /** Workspaces of the organizations the caller is in, with what decides their role there. */
  private standings(actor: Actor, within: Queries) {
    const { organization_id, workspace_ids } = actor.credential;
    let query = within
      .tables<WorkspaceTables>()
      .selectFrom('workspace as w')
      .innerJoin('membership as m', join =>
        join.onRef('m.organization_id', '=', 'w.organization_id').on('m.principal_id', '=', actor.id),
      )
      .leftJoin('workspace_member as wm', join =>
        join.onRef('wm.workspace_id', '=', 'w.id').on('wm.principal_id', '=', actor.id),
      )
      .selectAll('w')
      .select(['m.role as organization_role', 'wm.role as workspace_role']);
    if (organization_id) query = query.where('w.organization_id', '=', organization_id);
    if (workspace_ids) query = query.where(sql<boolean>`w.id = any(${[...workspace_ids]}::uuid[])`);
    return query.$castTo<StandingRow>();
  }
}

export function workspaceView(row: VisibleWorkspace): WorkspaceView {
  const { id, organization_id, name, visibility, role, created_by } = row;
  const times = { created_at: iso(row.created_at), updated_at: iso(row.updated_at) };
  return { id, organization_id, name, visibility, role, created_by, ...times };
}
