import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  isOrganizationPermission,
  isWorkspacePermission,
  ORGANIZATION_ROLES,
  organizationRoleAllows,
  roleOf,
  rolesWith,
} from '../../../platform/access/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { type Notice } from '../types/notice.js';
import { type Notification } from '../types/notification.js';
import { type TypeName, typeOf } from '../types/types.js';

type Place = Pick<Notice, 'organization_id' | 'workspace_id'>;

/** Who is notified, and whether they may know, as it is now. */
@Injectable()
export class RecipientsStore {
  constructor(private readonly database: Database) {}

  async findRecipients(type: TypeName, notice: Notice): Promise<string[]> {
    const { audience } = notice;
    const found = await this.find(type, notice);
    if (found.length > 0 || !('people' in audience) || !audience.orElse) return found;
    return this.find(type, { ...notice, audience: { workspaceRoles: audience.orElse } });
  }

  private async find(type: TypeName, notice: Notice): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select u.id from "user" u where ${isAddressed(notice)} and ${mayKnow(type, notice)} order by u.id`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  /** The addresses of accounts whose owners have confirmed them. */
  async confirmedAddresses(
    unit: UnitOfWork,
    userIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const { rows } = await sql<{ id: string; email: string }>`
      select id, email from "user" where id = any(${[...userIds]}::uuid[]) and email_verified_at is not null`.execute(
      unit.tables(),
    );
    return new Map(rows.map(({ id, email }) => [id, email]));
  }

  async mayKnow(unit: UnitOfWork, notification: Notification): Promise<boolean> {
    const { rows } = await sql`
      select from "user" u where u.id = ${notification.user_id} and ${mayKnow(notification.type, notification)}`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }
}

function isAddressed({ audience, organization_id, workspace_id }: Notice): RawBuilder<boolean> {
  if ('people' in audience)
    return sql`u.id in (select coalesce(s.sponsor_id, p.id) from unnest(${[...audience.people]}::uuid[]) p (id)
      left join service_account s on s.id = p.id)`;
  if ('workspaceRoles' in audience) return hasWorkspaceRole(workspace_id, audience.workspaceRoles);
  return hasOrganizationRole(organization_id, audience.organizationRoles);
}

function mayKnow(type: string, { organization_id, workspace_id }: Place): RawBuilder<boolean> {
  const needs = typeOf(type)?.needs ?? null;
  if (needs === null) return sql`true`;
  if (workspace_id !== null && isWorkspacePermission(needs))
    return hasWorkspaceRole(workspace_id, rolesWith(needs));
  if (organization_id === null) return sql`true`;
  const roles = isOrganizationPermission(needs)
    ? ORGANIZATION_ROLES.filter(role => organizationRoleAllows(role, needs))
    : ORGANIZATION_ROLES;
  return hasOrganizationRole(organization_id, roles);
}

const hasWorkspaceRole = (workspaceId: string | null, roles: readonly string[]): RawBuilder<boolean> =>
  sql`exists (select from workspace w where w.id = ${workspaceId} and ${roleOf(sql`u.id`)} = any(${[...roles]}::text[]))`;

const hasOrganizationRole = (organizationId: string | null, roles: readonly string[]): RawBuilder<boolean> =>
  sql`exists (select from organization_member m
    where m.organization_id = ${organizationId} and m.user_id = u.id and m.role = any(${[...roles]}::text[]))`;
