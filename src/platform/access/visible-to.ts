import { type RawBuilder, sql } from 'kysely';
import type { Actor } from './access.js';
import type { Feature, OrganizationRole, WorkspaceRole } from './policy.js';

/** A row of `organization` or `workspace`, as far as access is decided by it. */
interface OrganizationStanding {
  readonly organization_id: string;
  readonly role: OrganizationRole;
}
interface WorkspaceStanding {
  readonly id: string;
  readonly organization_id: string;
  readonly organization_role: OrganizationRole;
  readonly features_off: Feature[];
}

type Standing = WorkspaceStanding & { readonly role: WorkspaceRole | null };
type Visible = WorkspaceStanding & { readonly role: WorkspaceRole };

/**
 * SQL for the role of a principal in the workspace `w`, null where they do not see it: by their membership `m` of its
 * organization and by what they were given there, `wm`. `private`: its creator alone; `restricted`: those added, and the
 * organization's admins; `org`: also every member of the organization but guests, as editors.
 */
const ROLE = sql<WorkspaceRole | null>`case
  when w.created_by = m.principal_id then 'admin'
  when w.visibility = 'private' then null
  when m.role in ('owner', 'admin') then 'admin'
  when wm.role is not null then wm.role
  when w.visibility = 'org' and m.role <> 'guest' then 'editor'
end`;

/** The organizations that the caller is in and their credential reaches, to select from or to join. */
export function organizationsOf({ id, credential }: Actor): RawBuilder<OrganizationStanding> {
  return sql`(select m.organization_id, m.role from membership m
    where m.principal_id = ${id} and ${isIn('m.organization_id', credential.organization_id)})`;
}

/**
 * All workspaces of the caller's organizations that their credential reaches, with their role there: null where they do not
 * see the workspace. To select from or to join; `Columns` are those of the table that the query uses besides.
 */
export function workspacesOf<Columns = unknown>(actor: Actor): RawBuilder<Columns & Standing> {
  return workspaces(actor, sql`true`);
}

/** The workspaces that the caller sees, by the way that they came, with their role there. To select from or to join. */
export function visibleTo<Columns = unknown>(actor: Actor): RawBuilder<Columns & Visible> {
  return workspaces(actor, sql`${ROLE} is not null and ${isReachableBy(actor)}`);
}

/** The role of another principal in the workspace `w` of a query; null where they do not see it. */
export function roleOf(principal: RawBuilder<unknown>): RawBuilder<WorkspaceRole | null> {
  return sql`(select ${ROLE} from membership m
    left join workspace_member wm on wm.workspace_id = w.id and wm.principal_id = m.principal_id
    where m.organization_id = w.organization_id and m.principal_id = ${principal})`;
}

/** Whether the workspace `w` of a query is open to the way that the caller came. */
export function isReachableBy({ surface }: Pick<Actor, 'surface'>): RawBuilder<boolean> {
  return surface ? sql`${surface} <> all(w.features_off)` : sql`true`;
}

/** As {@link isReachableBy}, for a row that only names its workspace, or none. */
export function namesReachable({ surface }: Pick<Actor, 'surface'>): RawBuilder<boolean> {
  if (!surface) return sql`true`;
  return sql`not exists (select from workspace w where w.id = workspace_id and ${surface} = any(w.features_off))`;
}

function workspaces<Row>({ id, credential }: Actor, condition: RawBuilder<unknown>): RawBuilder<Row> {
  const { organization_id, workspace_ids } = credential;
  return sql`(select w.*, m.role as organization_role, ${ROLE} as role from workspace w
    join membership m on m.organization_id = w.organization_id and m.principal_id = ${id}
    left join workspace_member wm on wm.workspace_id = w.id and wm.principal_id = ${id}
    where ${isIn('w.organization_id', organization_id)} and ${isAmong('w.id', workspace_ids)} and ${condition})`;
}

const isIn = (column: string, organizationId: string | null) =>
  organizationId ? sql`${sql.ref(column)} = ${organizationId}` : sql`true`;

/** Whether an id is among those that a credential is limited to. */
export const isAmong = (column: string, ids: readonly string[] | null): RawBuilder<boolean> =>
  ids ? sql`${sql.ref(column)} = any(${[...ids]}::uuid[])` : sql`true`;
