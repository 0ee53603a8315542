import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { AdapterPayload } from 'oidc-provider';
import { hashSecret } from '../../../platform/access/index.js';
import { Database } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';

const HOUR_MS = 3_600_000;
/** Seconds that a device leaves between two polls, as long as it keeps to that (RFC 8628 section 3.2). */
export const POLL_SECONDS = 5;
/** Seconds by which that grows for a device each time it polls sooner (RFC 8628 section 3.5). */
const SLOWER_BY_SECONDS = 5;

export interface StoredArtifact {
  payload: AdapterPayload;
  consumedAt: Date | undefined;
}

/**
 * What the authorization server hands out and takes back (codes, refresh tokens, device codes, pushed requests, browser
 * sessions …): found by the hash of its secret, its content sealed. The database alone gives none of it away.
 */
@Injectable()
export class ArtifactsStore {
  private readonly seal: Seal;

  constructor(
    private readonly database: Database,
    vault: Vault,
  ) {
    this.seal = vault.seal('oauth seal');
  }

  /** Keeps it for so long; false, and nothing kept, where the grant it belongs to is gone. */
  async put(model: string, id: string, payload: AdapterPayload, seconds: number): Promise<boolean> {
    const key = hashSecret(id);
    const grantId = payload.grantId ?? null;
    const lookup = payload.userCode ?? payload.uid;
    const { rows } = await sql`
      insert into oauth_artifact (model, id, grant_id, lookup, sealed, expires_at)
      select ${model}, ${key}, ${grantId}::uuid, ${lookup ? hashSecret(lookup) : null},
        ${this.seal.close(JSON.stringify(payload), `${model} ${key}`)}, now() + make_interval(secs => ${seconds})
      where ${grantId}::uuid is null
        or exists (select from oauth_grant where id = ${grantId}::uuid for key share)
      on conflict (model, id) do update set grant_id = excluded.grant_id, lookup = excluded.lookup,
        sealed = excluded.sealed, expires_at = excluded.expires_at
      returning model`.execute(this.tables);
    return rows.length > 0;
  }

  /** Keeps the mark of something that may come once only; false where it is there already. */
  async mark(model: string, id: string, seconds: number): Promise<boolean> {
    const key = hashSecret(id);
    const { rows } = await sql`
      insert into oauth_artifact as a (model, id, sealed, expires_at)
      values (${model}, ${key}, ${this.seal.close('{}', `${model} ${key}`)},
        now() + make_interval(secs => ${seconds}))
      on conflict (model, id) do update set expires_at = excluded.expires_at where a.expires_at <= now()
      returning model`.execute(this.tables);
    return rows.length > 0;
  }

  find(model: string, id: string): Promise<StoredArtifact | undefined> {
    return this.read(model, 'id', hashSecret(id));
  }

  /** By the second name that some have: a device's user code, a session's uid. */
  findByLookup(model: string, lookup: string): Promise<StoredArtifact | undefined> {
    return this.read(model, 'lookup', hashSecret(lookup));
  }

  /** Marks it as used; false where it is gone or was used before. Of several at once one gets true. */
  async consume(model: string, id: string): Promise<boolean> {
    const consumed = await this.tables
      .updateTable('oauth_artifact')
      .set({ consumed_at: sql<string>`now()` })
      .where('model', '=', model)
      .where('id', '=', hashSecret(id))
      .where('consumed_at', 'is', null)
      .returning('id')
      .executeTakeFirst();
    return consumed !== undefined;
  }

  async delete(model: string, id: string): Promise<void> {
    await this.tables
      .deleteFrom('oauth_artifact')
      .where('model', '=', model)
      .where('id', '=', hashSecret(id))
      .execute();
  }

  async deleteOfGrant(model: string, grantId: string): Promise<void> {
    await this.tables
      .deleteFrom('oauth_artifact')
      .where('model', '=', model)
      .where('grant_id', '=', grantId)
      .execute();
  }

  /** Records the poll of a device; false where it came too soon after the last one, and the next must wait longer. */
  async pollDevice(deviceCode: string): Promise<boolean> {
    const key = hashSecret(deviceCode);
    // Of several polls at once one is in time: the others wait for its row, and then see its time.
    const { rows } = await sql`
      update oauth_artifact set polled_at = clock_timestamp()
      where model = 'DeviceCode' and id = ${key}
        and (polled_at is null or
          polled_at + make_interval(secs => coalesce(poll_seconds, ${POLL_SECONDS})) <= clock_timestamp())
      returning id`.execute(this.tables);
    if (rows.length > 0) return true;
    await sql`
      update oauth_artifact set polled_at = clock_timestamp(),
        poll_seconds = coalesce(poll_seconds, ${POLL_SECONDS}) + ${SLOWER_BY_SECONDS}
      where model = 'DeviceCode' and id = ${key}`.execute(this.tables);
    return false;
  }

  /** An hour is left, so that what has just ended is reported as ended, not as unknown. */
  @Chore('oauth-expired-artifacts', { everyMs: HOUR_MS })
  async deleteExpired(): Promise<void> {
    await sql`delete from oauth_artifact where expires_at < now() - interval '1 hour'`.execute(this.tables);
  }

  private async read(model: string, by: 'id' | 'lookup', value: string): Promise<StoredArtifact | undefined> {
    const row = await this.tables
      .selectFrom('oauth_artifact')
      .select(['id', 'sealed', 'consumed_at'])
      .where('model', '=', model)
      .where(by, '=', value)
      .executeTakeFirst();
    const payload = row && this.seal.open(row.sealed, `${model} ${row.id}`);
    if (!payload) return undefined;
    const consumedAt = row.consumed_at ? new Date(row.consumed_at) : undefined;
    return { payload: JSON.parse(payload.toString()), consumedAt };
  }

  private get tables() {
    return this.database.tables();
  }
}
