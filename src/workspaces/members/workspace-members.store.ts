import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { OrganizationRole, WorkspaceRole } from '../../platform/access/index.js';
import { Database, iso, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, readPage, toView } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { WorkspaceMemberView } from './workspace-members.dto.js';

interface MemberRow {
  principal_id: string;
  name: string;
  email: string | null;
  is_user: boolean;
  role: WorkspaceRole;
  organization_role: OrganizationRole;
  created_at: string;
}

/** Who was added to workspaces, and who made them, which is an admin there. Those who left the organization do not count. */
@Injectable()
export class WorkspaceMembersStore {
  constructor(private readonly database: Database) {}

  list(workspaceId: string, input: PageInput): Promise<Page<MemberRow>> {
    return readPage({ by: 'principal_id' }, input, async ({ after, limit }) => {
      const isLater = after === undefined ? sql`true` : sql`wm.principal_id > ${after}`;
      const { rows } = await this.members(workspaceId, isLater, limit);
      return rows;
    });
  }

  async read(workspaceId: string, principalId: string): Promise<MemberRow> {
    const { rows } = await this.members(workspaceId, sql`wm.principal_id = ${principalId}`, 1);
    if (!rows[0]) throw new NotFound('No such member of the workspace');
    return rows[0];
  }

  /** 404 for one who is no member of the organization. */
  async put(unit: UnitOfWork, workspaceId: string, principalId: string, role: WorkspaceRole): Promise<void> {
    const { rows } = await sql`
      insert into workspace_member (workspace_id, principal_id, role, created_at)
      select w.id, m.principal_id, ${role}, now() from workspace w
      join membership m on m.organization_id = w.organization_id and m.principal_id = ${principalId}
      where w.id = ${workspaceId}
      on conflict (workspace_id, principal_id) do update set role = excluded.role
      returning principal_id`.execute(unit.tables());
    if (rows.length === 0) throw new NotFound('No such member of the organization');
  }

  async remove(unit: UnitOfWork, workspaceId: string, principalId: string): Promise<void> {
    const { rows } = await sql`
      delete from workspace_member where workspace_id = ${workspaceId} and principal_id = ${principalId}
      returning principal_id`.execute(unit.tables());
    if (rows.length === 0) throw new NotFound('No such member of the workspace');
  }

  async removeFromAll(unit: UnitOfWork, organizationId: string, principalId: string): Promise<void> {
    await sql`
      delete from workspace_member wm using workspace w
      where w.id = wm.workspace_id and w.organization_id = ${organizationId} and wm.principal_id = ${principalId}`.execute(
      unit.tables(),
    );
  }

  private members(workspaceId: string, which: ReturnType<typeof sql>, limit: number) {
    return sql<MemberRow>`
      select wm.principal_id, coalesce(u.name, s.name) as name, u.email, u.id is not null as is_user,
        case when w.created_by = wm.principal_id then 'admin' else wm.role end as role,
        m.role as organization_role, wm.created_at
      from (
        select workspace_id, principal_id, role, created_at from workspace_member
        union all
        select c.id, c.created_by, 'admin', c.created_at from workspace c
        where not exists (
          select from workspace_member added where added.workspace_id = c.id and added.principal_id = c.created_by)
      ) wm
      join workspace w on w.id = wm.workspace_id
      join membership m on m.organization_id = w.organization_id and m.principal_id = wm.principal_id
      left join "user" u on u.id = wm.principal_id
      left join service_account s on s.id = wm.principal_id
      where wm.workspace_id = ${workspaceId} and ${which}
      order by wm.principal_id limit ${limit}`.execute(this.database.tables());
  }
}

export function workspaceMemberView(row: MemberRow): WorkspaceMemberView {
  const { is_user, principal_id: user_id } = row;
  const type = is_user ? 'user' : 'service_account';
  return toView(WorkspaceMemberView, row, { user_id, type, added_at: iso(row.created_at) });
}
