import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  AccessClaims,
  type Actor,
  type Credential,
  Credentials,
  hashSecret,
  SharedLookups,
} from '../../platform/access/index.js';
import { RecentChecks } from '../../platform/credentials/index.js';
import { Database, isoOrNull, Row } from '../../platform/database/index.js';
import { isWellFormedKey } from '../keys/index.js';

/** How old `last_used_at` may grow before a use writes it again: a write a request would cost more than the request. */
const LAST_USED_PRECISION_MS = 60_000;

/**
 * The owner of an API key or an access token, by one query. Requests that come with the same credential at once, as an
 * agent's do, share it.
 */
@Injectable()
export class CredentialsStore extends Credentials {
  private readonly lookups = new SharedLookups<Actor | undefined>();

  constructor(
    private readonly database: Database,
    private readonly checks: RecentChecks,
  ) {
    super();
  }

  ofApiKey(secret: string): Promise<Actor | undefined> {
    return this.lookups.get(`key ${secret}`, () => this.checks.noting(() => this.findKeyOwner(secret)));
  }

  ofAccessToken(claims: AccessClaims): Promise<Actor | undefined> {
    const { sub, sid, exp } = claims;
    return this.lookups.get(`session ${sub} ${sid} ${exp}`, () =>
      this.checks.noting(() => this.findSessionOwner(claims)),
    );
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

  private async findKeyOwner(secret: string): Promise<Actor | undefined> {
    if (!isWellFormedKey(secret)) return undefined;
    const { rows } = await sql<KeyRow>`
      select k.id, k.organization_id, k.scopes, k.workspace_ids, k.expires_at, k.last_used_at, u.id as user_id,
        u.name as user_name, u.email, s.id as service_account_id, s.name as service_account_name
      from api_key k left join "user" u on u.id = k.user_id left join service_account s on s.id = k.service_account_id
      where k.hash = ${hashSecret(secret)} and k.revoked_at is null`.execute(this.database.tables());
    const [row] = rows;
    if (!row || (row.expires_at && new Date(row.expires_at) <= new Date())) return undefined;
    await this.recordUse(row);
    const { id, scopes, organization_id, workspace_ids } = row;
    const expires_at = isoOrNull(row.expires_at);
    return ownerOf(row, { type: 'api_key', id, scopes, expires_at, organization_id, workspace_ids });
  }

  private async findSessionOwner({ sub, sid, exp }: AccessClaims): Promise<Actor | undefined> {
    const { rows } = await sql<{ user_id: string; name: string; email: string }>`
      select u.id as user_id, u.name, u.email from session s join "user" u on u.id = s.user_id
      where s.id = ${sid} and s.user_id = ${sub} and s.revoked_at is null`.execute(this.database.tables());
    const [row] = rows;
    const expires_at = new Date(exp * 1000).toISOString();
    const unlimited = { scopes: null, organization_id: null, workspace_ids: null };
    return (
      row && {
        type: 'user',
        id: row.user_id,
        name: row.name,
        email: row.email,
        credential: { type: 'session', id: sid, expires_at, ...unlimited },
      }
    );
  }

  private async recordUse({ id, last_used_at }: Pick<Row<'api_key'>, 'id' | 'last_used_at'>): Promise<void> {
    if (last_used_at && Date.now() - Date.parse(last_used_at) < LAST_USED_PRECISION_MS) return;
    await this.database
      .tables()
      .updateTable('api_key')
      .set({ last_used_at: new Date().toISOString() })
      .where('id', '=', id)
      .execute();
  }
}

interface KeyOwnerRow {
  user_id: string | null;
  user_name: string | null;
  email: string | null;
  service_account_id: string | null;
  service_account_name: string | null;
}

type KeyRow = KeyOwnerRow &
  Pick<Row<'api_key'>, 'id' | 'organization_id' | 'scopes' | 'workspace_ids' | 'expires_at' | 'last_used_at'>;

/** A key belongs to a person or to a service account. */
function ownerOf(row: KeyOwnerRow, credential: Actor['credential']): Actor | undefined {
  const { user_id, user_name, email, service_account_id, service_account_name } = row;
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
