import { hash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { applyDecorators, createParamDecorator, ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { type RawBuilder, sql } from 'kysely';
import { SharedLookups as Lookups } from '#libs/shared-lookups/index.js';
import { dryRun } from '../database/index.js';
import { defineTopic } from '../topics/index.js';
import type { Actor, Credential } from './actor.js';
import type { Feature, OrganizationRole, WorkspaceRole } from './policy.js';

// Triggers publish all three.

/** What a person or service account may has changed. */
export const accessTopic = defineTopic('access');
/** A credential was revoked. */
export const credentialTopic = defineTopic('credential');
/** Who may see a workspace has changed. */
export const workspaceAccessTopic = defineTopic('workspace-access');

/** A secret of 256 random bits, in base64url. */
export const randomSecret = (): string => randomBytes(32).toString('base64url');

/** What is stored of a secret with full entropy: its SHA-256. (Passwords, which have less, are hashed slowly.) */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');

/** Look-ups that concurrent callers share; what a dry run sees is of its own transaction, and so not shared. */
export class SharedLookups<T> extends Lookups<T> {
  override get(key: string, look: () => Promise<T>): Promise<T> {
    return dryRun() ? look() : super.get(key, look);
  }
}

/** Prefix of API keys. */
export const API_KEY_PREFIX = 'atl_';

/** The API key of a request: in `X-API-Key`, or as a bearer token (RFC 6750), which is all that many clients can send. */
export function sentApiKey(headers: IncomingHttpHeaders): string | undefined {
  const { 'x-api-key': key, authorization = '' } = headers;
  if (key !== undefined) return String(key);
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
  return token?.startsWith(API_KEY_PREFIX) ? token : undefined;
}

export const PUBLIC = 'access:public';
export const EXEC_TOKEN_ONLY = 'access:exec-token-only';
/** Set on a route to the name of what it serves, where that exposes something: applications get 403. */
export const EXPOSES = 'access:exposes';

/** Set on a route by what it serves (`sessionOnly` of an action): keys and service accounts get 403. */
export const SESSION_ONLY = 'access:session-only';

/**
 * Opens a route to callers without a credential; every other route is closed. With `orSignedIn`, a credential that is sent
 * all the same is checked, and its owner is the caller.
 */
export const Public = ({ orSignedIn = false } = {}) =>
  applyDecorators(
    SetMetadata(PUBLIC, orSignedIn ? 'or-signed-in' : 'always'),
    ApiExtension('x-public', true),
  );

/** Takes an exec token, and no other credential. */
export const ExecTokenOnly = () =>
  applyDecorators(
    SetMetadata(EXEC_TOKEN_ONLY, true),
    ApiSecurity('exec_token'),
    ApiExtension('x-exec-token', true),
  );

/** Who makes the request. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  const { user } = context.switchToHttp().getRequest<FastifyRequest & { user: Actor }>();
  return user;
});

/** Who makes the request to a public route; undefined for a caller without a credential. */
export const OptionalCaller = createParamDecorator(
  (_: unknown, context: ExecutionContext): Actor | undefined => {
    return context.switchToHttp().getRequest<FastifyRequest & { user?: Actor }>().user;
  },
);

/**
 * Who stands behind a credential; identity provides it. Each answers undefined for a credential that is not valid.
 */
export abstract class Credentials {
  abstract ofApiKey(key: string): Promise<Actor | undefined>;
  abstract ofAccessToken(claims: AccessClaims): Promise<Actor | undefined>;
  /** Whether a credential, once checked, has not been revoked since; nor has run out, where it is a key and that counts. */
  abstract stands(credential: Credential, options?: { evenExpired?: boolean }): Promise<boolean>;
  /** The same as SQL, for a statement that asks more. */
  abstract standing(credential: Credential, options?: { evenExpired?: boolean }): RawBuilder<boolean>;
}

/** What an access token says (RFC 7519): the user, and the session it belongs to. */
export interface AccessClaims {
  readonly sub: string;
  readonly sid: string;
  readonly exp: number;
}

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

/**
 * The organizations that the caller is in and their credential reaches, to select from or to join. A credential limited to
 * some workspaces reaches the organizations of these.
 */
export function organizationsOf({ id, credential }: Actor): RawBuilder<OrganizationStanding> {
  const { organization_id, workspace_ids } = credential;
  const holdsOne = workspace_ids
    ? sql`m.organization_id in (select w.organization_id from workspace w where ${isAmong('w.id', workspace_ids)})`
    : sql`true`;
  return sql`(select m.organization_id, m.role from membership m
    where m.principal_id = ${id} and ${isIn('m.organization_id', organization_id)} and ${holdsOne})`;
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
  const reach = sql`${isIn('w.organization_id', organization_id)} and ${isAmong('w.id', workspace_ids)}`;
  return standing(sql`${id}`, sql`${reach} and ${condition}`);
}

function standing<Row>(principal: RawBuilder<unknown>, condition: RawBuilder<unknown>): RawBuilder<Row> {
  return sql`(select w.*, m.role as organization_role, ${ROLE} as role from workspace w
    join membership m on m.organization_id = w.organization_id and m.principal_id = ${principal}
    left join workspace_member wm on wm.workspace_id = w.id and wm.principal_id = ${principal}
    where ${condition})`;
}

const isIn = (column: string, organizationId: string | null) =>
  organizationId ? sql`${sql.ref(column)} = ${organizationId}` : sql`true`;

/** Whether an id is among those that a credential is limited to. */
export const isAmong = (column: string, ids: readonly string[] | null): RawBuilder<boolean> =>
  ids ? sql`${sql.ref(column)} = any(${[...ids]}::uuid[])` : sql`true`;
