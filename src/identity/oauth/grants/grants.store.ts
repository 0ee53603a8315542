import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type AdapterPayload } from 'oidc-provider';
import { Database, iso, isoOrNull, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, pageById } from '../../../platform/dto/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import type { GrantView } from './grants.dto.js';

/**
 * What a person allowed a client: scopes as granted, bundles included; no `workspace_ids`: every workspace that the person
 * sees; no `redirect_host`: a device that showed a code.
 */
export type GrantRow = Row<'oauth_grant'>;

declare global {
  interface ColumnTypes {
    /** The grant as oidc-provider keeps it. */
    'oauth_grant.terms': AdapterPayload;
  }
}

const HOUR_MS = 3_600_000;
/** A grant without a refresh token lasts as long as the access token that it may still get. */
const FIRST_LIFE_SECONDS = 2 * 3600;

/** What the consent page knows of a grant besides its terms. */
type GrantDetails = Pick<GrantRow, 'client_name' | 'redirect_host' | 'scopes' | 'workspace_ids'>;

/** Questions about grants. A grant is revoked by deleting its row; its codes and refresh tokens go with it. */
@Injectable()
export class GrantsStore {
  constructor(private readonly database: Database) {}

  @Chore('oauth-expired-grants', { everyMs: HOUR_MS })
  async deleteExpired(): Promise<void> {
    await sql`delete from oauth_grant where expires_at < now()`.execute(this.tables);
  }

  /** Adds a grant that sees no workspace until {@link describe} says otherwise; of one that is there, the terms change. */
  async put(id: string, terms: AdapterPayload): Promise<void> {
    const scopes = Object.values((terms.resources ?? {}) as Record<string, string>).flatMap(scope =>
      scope.split(' '),
    );
    const resources = Object.keys(terms.resources ?? {});
    await this.tables
      .insertInto('oauth_grant')
      .values({
        id,
        user_id: String(terms.accountId),
        client_id: String(terms.clientId),
        client_name: String(terms.clientId),
        redirect_host: null,
        scopes: [...new Set(scopes)].sort(),
        resources,
        workspace_ids: [],
        terms,
        created_at: sql<string>`now()`,
        last_used_at: null,
        expires_at: sql<string>`now() + make_interval(secs => ${FIRST_LIFE_SECONDS})`,
      })
      .onConflict(conflict => conflict.column('id').doUpdateSet({ terms }))
      .execute();
  }

  async describe(unit: UnitOfWork, id: string, details: GrantDetails): Promise<void> {
    await unit.tables().updateTable('oauth_grant').set(details).where('id', '=', id).execute();
  }

  async findTerms(id: string): Promise<AdapterPayload | undefined> {
    const row = await this.tables
      .selectFrom('oauth_grant')
      .select('terms')
      .where('id', '=', id)
      .executeTakeFirst();
    return row?.terms;
  }

  /** Keeps the grant for as long as its newest refresh token lives. */
  async extend(id: string, seconds: number): Promise<void> {
    const end = sql<string>`greatest(expires_at, now() + make_interval(secs => ${seconds}))`;
    await this.tables.updateTable('oauth_grant').set({ expires_at: end }).where('id', '=', id).execute();
  }

  async delete(id: string): Promise<void> {
    await this.tables.deleteFrom('oauth_grant').where('id', '=', id).execute();
  }

  /** Those of a person, oldest first. */
  listOf(userId: string, input: PageInput): Promise<Page<GrantView>> {
    const grants = this.tables.selectFrom('oauth_grant').selectAll().where('user_id', '=', userId);
    return pageById(grants.where('expires_at', '>', sql<string>`now()`), input, grantView);
  }

  /** Deletes one of a person's; undefined where they have no such grant. */
  deleteOf(unit: UnitOfWork, userId: string, id: string): Promise<GrantRow | undefined> {
    return unit
      .tables()
      .deleteFrom('oauth_grant')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .returningAll()
      .executeTakeFirst();
  }

  private get tables() {
    return this.database.tables();
  }
}

function grantView(row: GrantRow): GrantView {
  const { id, client_id, client_name, redirect_host, scopes, resources, workspace_ids } = row;
  const times = {
    created_at: iso(row.created_at),
    last_used_at: isoOrNull(row.last_used_at),
    expires_at: iso(row.expires_at),
  };
  return { id, client_id, client_name, redirect_host, scopes, resources, workspace_ids, ...times };
}
