import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, hashSecret, SharedLookups } from '../../../platform/access/index.js';
import { Database, isoOrNull, type Row } from '../../../platform/database/index.js';
import { expandScopes } from '../scopes/scopes.js';
import { type AccessTokenClaims, REVOKED } from './token-handles.js';

/** How old `last_used_at` may grow before a use writes it again. */
const LAST_USED_PRECISION_MS = 60_000;

type GrantOwnerRow = Pick<Row<'user'>, 'name' | 'email'> &
  Pick<Row<'oauth_grant'>, 'workspace_ids' | 'last_used_at'>;
type KeyOwnerRow = Pick<Row<'user'>, 'name'> &
  Pick<Row<'api_key'>, 'scopes' | 'organization_id' | 'workspace_ids' | 'expires_at'>;

/** Who stands behind an access token, and within which limits, right now: one query each. */
@Injectable()
export class TokenOwnersStore {
  private readonly lookups = new SharedLookups<Actor | undefined>();

  constructor(private readonly database: Database) {}

  find(claims: AccessTokenClaims): Promise<Actor | undefined> {
    return this.lookups.get(claims.jti, () => this.look(claims));
  }

  private async look(claims: AccessTokenClaims): Promise<Actor | undefined> {
    const { grant_id, key_id } = claims;
    if (grant_id) return this.ofGrant(grant_id, claims);
    return key_id ? this.ofKey(key_id, claims) : undefined;
  }

  /** A person who let a client in, and has not taken it back. */
  private async ofGrant(grantId: string, claims: AccessTokenClaims): Promise<Actor | undefined> {
    const { rows } = await sql<GrantOwnerRow>`
      select u.name, u.email, g.workspace_ids, g.last_used_at
      from oauth_grant g join "user" u on u.id = g.user_id
      where g.id = ${grantId} and g.user_id = ${claims.sub} and g.client_id = ${claims.client_id}
        and g.expires_at > now()`.execute(this.database.tables());
    const [row] = rows;
    if (!row) return undefined;
    await this.recordUse(grantId, row.last_used_at);
    const { name, email, workspace_ids } = row;
    const limits = { scopes: expandScopes(scopesOf(claims)), organization_id: null, workspace_ids };
    return {
      type: 'user',
      id: claims.sub,
      name,
      email,
      credential: { type: 'oauth', id: grantId, expires_at: expiryOf(claims), ...limits },
    };
  }

  /** A service account whose key is still good: the token may do what both the key and itself may. */
  private async ofKey(keyId: string, claims: AccessTokenClaims): Promise<Actor | undefined> {
    const { rows } = await sql<KeyOwnerRow>`
      select s.name, k.scopes, k.organization_id, k.workspace_ids, k.expires_at
      from api_key k join service_account s on s.id = k.service_account_id
      where k.id = ${keyId} and s.id = ${claims.sub} and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())
        and not exists (
          select from oauth_artifact where model = ${REVOKED} and id = ${hashSecret(claims.jti)})`.execute(
      this.database.tables(),
    );
    const [row] = rows;
    if (!row) return undefined;
    const { name, organization_id, workspace_ids } = row;
    const scopes = expandScopes(scopesOf(claims)).filter(scope => row.scopes?.includes(scope) ?? true);
    const ends = [expiryOf(claims), isoOrNull(row.expires_at)].filter(end => end !== null).sort();
    const limits = { scopes, organization_id, workspace_ids };
    return {
      type: 'service_account',
      id: claims.sub,
      name,
      email: null,
      credential: { type: 'oauth', id: keyId, expires_at: ends[0] ?? null, ...limits },
    };
  }

  private async recordUse(grantId: string, lastUsedAt: string | null): Promise<void> {
    if (lastUsedAt && Date.now() - Date.parse(lastUsedAt) < LAST_USED_PRECISION_MS) return;
    await sql`update oauth_grant set last_used_at = now() where id = ${grantId}`.execute(
      this.database.tables(),
    );
  }
}

const scopesOf = ({ scope = '' }: AccessTokenClaims) => scope.split(' ').filter(Boolean);
const expiryOf = ({ exp }: AccessTokenClaims) => new Date(exp * 1000).toISOString();
