import { Injectable } from '@nestjs/common';
import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import {
  AccessClaims,
  type Actor,
  type Credential,
  Credentials,
  type FoundWorkspace,
  hashSecret,
  SharedLookups,
  withWorkspace,
  workspaceFor,
} from '../../platform/access/index.js';
import { type CheckedActor, RecentChecks } from '../../platform/credentials/index.js';
import { Database, isoOrNull, Row } from '../../platform/database/index.js';
import { isWellFormedKey } from '../keys/index.js';

/** How old `last_used_at` may grow before a use writes it again: a write a request would cost more than the request. */
const LAST_USED_PRECISION_MS = 60_000;

/**
 * The owner of an API key or an access token, by one query, with the workspace that a request is about. Requests that come with the same credential at once, as an
 * agent's do, share it.
 */
@Injectable()
export class CredentialsStore extends Credentials {
  private readonly lookups = new SharedLookups<Actor | undefined>();
  /** With a workspace. */
  private readonly reads = new SharedLookups<(Caller & { mark: number | undefined }) | undefined>();

  constructor(
    private readonly database: Database,
    private readonly checks: RecentChecks,
  ) {
    super();
  }

  async ofApiKey(secret: string, workspaceId?: string): Promise<Actor | undefined> {
    const look = () => this.findKeyOwner(secret, workspaceId);
    return this.shared(`key ${secret}`, workspaceId, look);
  }

  async ofAccessToken(claims: AccessClaims, workspaceId?: string): Promise<Actor | undefined> {
    const { sub, sid, exp } = claims;
    const look = () => this.findSessionOwner(claims, workspaceId);
    return this.shared(`session ${sub} ${sid} ${exp}`, workspaceId, look);
  }

  async stands({ type, id }: Credential, { evenExpired = false } = {}): Promise<boolean> {
    if (type === 'exec') return true;
    const { rows } = await sql`
      select 1 from api_key where id = ${id}::uuid and ${type} <> 'session' and revoked_at is null
        and (${evenExpired} or expires_at is null or expires_at > now())
      union all select 1 from oauth_grant where id = ${id}::uuid and ${type} = 'oauth'
      union all select 1 from session where id = ${id}::uuid and ${type} = 'session' and revoked_at is null`.execute(
      this.database.tables(),
    );
    return rows.length > 0;
  }

  /** Whoever asks about a workspace gets an actor of their own, which goes with what was found of it. */
  private async shared(
    credential: string,
    workspaceId: string | undefined,
    look: () => Promise<Caller | undefined>,
  ): Promise<Actor | undefined> {
    if (workspaceId === undefined) return this.lookups.get(credential, () => this.checks.noting(look));
    const caller = await this.reads.get(`${credential} ${workspaceId}`, async () => {
      const mark = this.checks.now();
      const found = await look();
      return found && { ...found, mark };
    });
    if (!caller) return undefined;
    const actor = withWorkspace(caller.actor, workspaceId, caller.workspace);
    this.checks.note({ ...caller, actor }, caller.mark);
    return actor;
  }

  private async findKeyOwner(secret: string, workspaceId?: string): Promise<Caller | undefined> {
    if (!isWellFormedKey(secret)) return undefined;
    const row = await this.first<KeyRow>(
      workspaceId ? KEY_AND_WORKSPACE : KEY,
      hashSecret(secret),
      workspaceId,
    );
    if (!row) return undefined;
    await this.recordUse(row);
    const expires_at = isoOrNull(row.key_expires_at);
    const actor = ownerOf(row, {
      type: 'api_key',
      id: row.key_id,
      scopes: row.key_scopes,
      expires_at,
      organization_id: row.key_organization_id,
      workspace_ids: row.key_workspace_ids,
    });
    return actor && { actor, at: row.looked_at, workspace: workspaceOf(row) };
  }

  private async findSessionOwner(
    { sub, sid, exp }: AccessClaims,
    workspaceId?: string,
  ): Promise<Caller | undefined> {
    const statement = workspaceId ? SESSION_AND_WORKSPACE : SESSION;
    const row = await this.first<SessionRow>(statement, sid, sub, workspaceId);
    if (!row) return undefined;
    const expires_at = new Date(exp * 1000).toISOString();
    const unlimited = { scopes: null, organization_id: null, workspace_ids: null };
    const { user_id, user_name, user_email } = row;
    const credential = { type: 'session' as const, id: sid, expires_at, ...unlimited };
    const actor: Actor = { type: 'user', id: user_id, name: user_name, email: user_email, credential };
    return { actor, at: row.looked_at, workspace: workspaceOf(row) };
  }

  /** Compiled once: every request asks one of these. */
  private async first<T>(
    statement: Statement,
    ...values: readonly (string | undefined)[]
  ): Promise<T | undefined> {
    const tables = this.database.tables();
    statement.text ??= statement.query.compile(tables).sql;
    const given = values.filter(value => value !== undefined);
    const { rows } = await tables.executeQuery<T>(CompiledQuery.raw(statement.text, given));
    return rows[0];
  }

  private async recordUse({ key_id, key_last_used_at: last }: KeyRow): Promise<void> {
    if (last && Date.now() - Date.parse(last) < LAST_USED_PRECISION_MS) return;
    await this.database
      .tables()
      .updateTable('api_key')
      .set({ last_used_at: new Date().toISOString() })
      .where('id', '=', key_id)
      .execute();
  }
}

interface Caller extends CheckedActor {
  readonly workspace: FoundWorkspace | undefined;
}

interface Statement {
  readonly query: RawBuilder<unknown>;
  text?: string;
}

const KEY_COLUMNS = sql`k.id as key_id, k.organization_id as key_organization_id, k.scopes as key_scopes,
  k.workspace_ids as key_workspace_ids, k.expires_at as key_expires_at, k.last_used_at as key_last_used_at,
  u.id as user_id, u.name as user_name, u.email as user_email, s.id as service_account_id, s.name as service_account_name,
  now() as looked_at`;
const KEY_TABLES = sql`api_key k left join "user" u on u.id = k.user_id
  left join service_account s on s.id = k.service_account_id`;
const IS_KEY = sql`k.hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`;
const KEY_REACHES = sql`(k.organization_id is null or w.organization_id = k.organization_id)
  and (k.workspace_ids is null or w.id = any(k.workspace_ids))`;
const KEY_WORKSPACE = workspaceFor(sql`$2`, sql`coalesce(k.user_id, k.service_account_id)`, KEY_REACHES);

const SESSION_COLUMNS = sql`u.id as user_id, u.name as user_name, u.email as user_email, now() as looked_at`;
const SESSION_TABLES = sql`session s join "user" u on u.id = s.user_id`;
const IS_SESSION = sql`s.id = $1 and s.user_id = $2 and s.revoked_at is null`;
const SESSION_WORKSPACE = workspaceFor(sql`$3`, sql`u.id`, sql`true`);

const KEY: Statement = { query: sql`select ${KEY_COLUMNS} from ${KEY_TABLES} where ${IS_KEY}` };
const SESSION: Statement = {
  query: sql`select ${SESSION_COLUMNS} from ${SESSION_TABLES} where ${IS_SESSION}`,
};
const KEY_AND_WORKSPACE: Statement = {
  query: sql`select ${KEY_COLUMNS}, r.* from ${KEY_TABLES} left join lateral ${KEY_WORKSPACE} r on true where ${IS_KEY}`,
};
const SESSION_AND_WORKSPACE: Statement = {
  query: sql`select ${SESSION_COLUMNS}, r.* from ${SESSION_TABLES} left join lateral ${SESSION_WORKSPACE} r on true
    where ${IS_SESSION}`,
};

/** What was joined of a workspace: nothing has an id where there is none. */
type Joined = Partial<FoundWorkspace>;

const workspaceOf = (row: Joined): FoundWorkspace | undefined =>
  row.id ? (row as FoundWorkspace) : undefined;

interface Looked {
  looked_at: string;
}

interface KeyOwnerRow {
  user_id: string | null;
  user_name: string | null;
  user_email: string | null;
  service_account_id: string | null;
  service_account_name: string | null;
}

type Prefixed<T, P extends string> = { [K in keyof T & string as `${P}${K}`]: T[K] };

type KeyColumns = 'id' | 'organization_id' | 'scopes' | 'workspace_ids' | 'expires_at' | 'last_used_at';
type KeyRow = Joined & Looked & KeyOwnerRow & Prefixed<Pick<Row<'api_key'>, KeyColumns>, 'key_'>;
type SessionRow = Joined & Looked & { user_id: string; user_name: string; user_email: string };

/** A key belongs to a person or to a service account. */
function ownerOf(row: KeyOwnerRow, credential: Actor['credential']): Actor | undefined {
  const { user_id, user_name, user_email: email, service_account_id, service_account_name } = row;
  if (user_id && user_name) return { type: 'user', id: user_id, name: user_name, email, credential };
  if (!service_account_id || !service_account_name) return undefined;
  return {
    type: 'service_account',
    id: service_account_id,
    name: service_account_name,
    email: null,
    credential,
  };
}
