import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  AccessClaims,
  type Actor,
  type Credential,
  Credentials,
  hashSecret,
  SharedLookups,
} from '../../platform/access/index.js';
import { Database, isoOrNull, Row } from '../../platform/database/index.js';
import { isWellFormedKey } from '../keys/index.js';

/** How old `last_used_at` may grow before a use writes it again: a write a request would cost more than the request. */
const LAST_USED_PRECISION_MS = 60_000;

/**
 * The owner of an API key or an access token, by one query, which requests that come with the same credential at once, as an
 * agent's do, share.
 */
@Injectable()
export class CredentialsStore extends Credentials {
  private readonly lookups = new SharedLookups<Actor | undefined>();

  constructor(private readonly database: Database) {
    super();
  }

  ofApiKey(secret: string): Promise<Actor | undefined> {
    return this.lookups.get(`key ${secret}`, () => this.findKeyOwner(secret));
  }

  ofAccessToken(claims: AccessClaims): Promise<Actor | undefined> {
    const { sub, sid, exp } = claims;
    return this.lookups.get(`session ${sub} ${sid} ${exp}`, () => this.findSessionOwner(claims));
  }

  async stands(credential: Credential, options?: { evenExpired?: boolean }): Promise<boolean> {
    const { rows } = await sql<{
      stands: boolean;
    }>`select ${this.standing(credential, options)} as stands`.execute(this.database.tables());
    return rows[0]?.stands === true;
  }

  standing({ type, id }: Credential, { evenExpired = false } = {}): RawBuilder<boolean> {
    if (type === 'exec') return sql`true`;
    return sql`(exists (select from api_key where id = ${id}::uuid and ${type} <> 'session' and revoked_at is null
        and (${evenExpired} or expires_at is null or expires_at > now()))
      or exists (select from oauth_grant where id = ${id}::uuid and ${type} = 'oauth')
      or exists (select from session where id = ${id}::uuid and ${type} = 'session' and revoked_at is null))`;
  }

  private async findKeyOwner(secret: string): Promise<Actor | undefined> {
    if (!isWellFormedKey(secret)) return undefined;
    const { rows } = await sql<KeyRow>`
      select k.id as key_id, k.organization_id as key_organization_id, k.scopes as key_scopes,
        k.workspace_ids as key_workspace_ids, k.expires_at as key_expires_at, k.last_used_at as key_last_used_at,
        u.id as user_id, u.name as user_name, u.email as user_email,
        s.id as service_account_id, s.name as service_account_name
      from api_key k left join "user" u on u.id = k.user_id left join service_account s on s.id = k.service_account_id
      where k.hash = ${hashSecret(secret)} and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())`.execute(this.database.tables());
    const [row] = rows;
    if (!row) return undefined;
    await this.recordUse(row);
    return ownerOf(row, {
      type: 'api_key',
      id: row.key_id,
      scopes: row.key_scopes,
      expires_at: isoOrNull(row.key_expires_at),
      organization_id: row.key_organization_id,
      workspace_ids: row.key_workspace_ids,
    });
  }

  private async findSessionOwner({ sub, sid, exp }: AccessClaims): Promise<Actor | undefined> {
    const { rows } = await sql<Pick<Row<'user'>, 'id' | 'name' | 'email'>>`
      select u.id, u.name, u.email from session s join "user" u on u.id = s.user_id
      where s.id = ${sid} and s.user_id = ${sub} and s.revoked_at is null`.execute(this.database.tables());
    const [user] = rows;
    if (!user) return undefined;
    const expires_at = new Date(exp * 1000).toISOString();
    const unlimited = { scopes: null, organization_id: null, workspace_ids: null };
    return { type: 'user', ...user, credential: { type: 'session', id: sid, expires_at, ...unlimited } };
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

interface KeyOwnerRow {
  user_id: string | null;
  user_name: string | null;
  user_email: string | null;
  service_account_id: string | null;
  service_account_name: string | null;
}

type Prefixed<T, P extends string> = { [K in keyof T & string as `${P}${K}`]: T[K] };

type KeyColumns = 'id' | 'organization_id' | 'scopes' | 'workspace_ids' | 'expires_at' | 'last_used_at';
type KeyRow = KeyOwnerRow & Prefixed<Pick<Row<'api_key'>, KeyColumns>, 'key_'>;

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
