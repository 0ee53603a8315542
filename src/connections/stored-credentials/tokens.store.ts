import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, newId, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type LeasedRows, Leases } from '../../platform/leases/index.js';
import { defineTopic, notifyTopic } from '../../platform/topics/index.js';
import { type OpenedSecret, Vault } from '../../platform/vault/index.js';
import type { TokenSetState } from './token-events.js';
import { encode, type TokenSet } from './token-set.js';

/** Tokens, state or holder of a token set changed. */
export const connectionTopic = defineTopic('connection');
/** Another token set may be due. */
export const TOKENS_DUE = defineTopic('tokens-due')();

declare global {
  interface ColumnTypes {
    'token_set.state': TokenSetState;
  }
}

export type TokenSetRow = Row<'token_set'>;
/** What may be shown of a token set. */
export type TokenStanding = Pick<
  TokenSetRow,
  | 'id'
  | 'state'
  | 'reason'
  | 'scopes'
  | 'is_renewable'
  | 'access_expires_at'
  | 'refresh_expires_at'
  | 'revision'
  | 'last_used_at'
>;
/** As the clock of the database sees it. */
export type FoundTokenSet = TokenSetRow & {
  readonly is_fresh: boolean;
  readonly is_valid: boolean;
  /** Seconds until it may be renewed again. */
  readonly backs_off: number;
  /** Its use was noted within the last minute. */
  readonly is_noted: boolean;
};

const PLACE = 'token_set';
/** Renewed at 80 % of its lifetime, give or take 5 %, so that many that were obtained at once do not come at once. */
const EARLY = sql`(0.75 + 0.1 * random())`;
const MARGIN_SECONDS = 30;
const WARN_SECONDS = 7 * 86_400;
/** Longer than this they are not noted as in use again. */
const IDLE = sql`interval '7 days'`;

type Queries = Pick<Database, 'tables'>;

@Injectable()
export class TokensStore {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly vault: Vault,
    leases: Leases,
  ) {
    this.rows = leases.rows('token_set');
  }

  async insert(
    unit: UnitOfWork,
    { kind, organization_id }: Pick<TokenSetRow, 'kind' | 'organization_id'>,
    tokens: TokenSet,
  ): Promise<string> {
    const id = newId();
    const secretId = await this.vault.put(unit, { place: PLACE, organization_id }, encode(tokens));
    const { columns, values } = toTimes(tokens);
    await sql`
      insert into token_set (id, kind, organization_id, secret_id, state, scopes, is_renewable, revision, failures,
        created_at, updated_at, ${columns})
      values (${id}, ${kind}, ${organization_id}, ${secretId}, 'active', ${[...tokens.scopes]}::text[],
        ${isRenewable(tokens)}, 1, 0, now(), now(), ${values})`.execute(unit.tables());
    await sql`select ${notifyTopic(TOKENS_DUE)}`.execute(unit.tables());
    return id;
  }

  async find(id: string, within: Queries = this.database): Promise<FoundTokenSet | undefined> {
    const { rows } = await sql<FoundTokenSet>`
      select *, coalesce(fresh_until > now(), true) as is_fresh, coalesce(access_expires_at > now(), true) as is_valid,
        greatest(0, coalesce(extract(epoch from retry_at - now()), 0))::float8 as backs_off,
        coalesce(last_used_at > now() - interval '1 minute', false) as is_noted
      from token_set where id = ${id}`.execute(within.tables());
    return rows[0];
  }

  standings(ids: readonly string[], within: Queries = this.database): Promise<TokenStanding[]> {
    return within.tables().selectFrom('token_set').selectAll().where('id', 'in', ids).execute();
  }

  /** Locks the row. */
  async lock(unit: UnitOfWork, id: string): Promise<TokenSetRow | undefined> {
    return unit
      .tables()
      .selectFrom('token_set')
      .selectAll()
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
  }

  open({ secret_id, organization_id }: TokenSetRow, within?: Queries): Promise<OpenedSecret | undefined> {
    return this.vault.open({ place: PLACE, id: secret_id, organization_id }, within);
  }

  /** Returns false if another process renews it, or has. */
  async claim(id: string, revision: number): Promise<boolean> {
    const { rows } = await sql`
      update token_set set ${this.rows.claimed}
      where id = ${id} and revision = ${revision} and state <> 'needs_reauth' and ${this.rows.isFree}
        and coalesce(retry_at <= now(), true)
      returning 1`.execute(this.database.tables());
    return rows.length > 0;
  }

  /** Claims token sets that are due and in use. */
  async claimDue(limit: number): Promise<FoundTokenSet[]> {
    const { rows } = await sql<FoundTokenSet>`
      update token_set set ${this.rows.claimed}
      where id in (
        select id from token_set where ${DUE} and ${this.rows.isFree} and coalesce(retry_at <= now(), true)
        order by refresh_at limit ${limit} for update skip locked)
      returning *`.execute(this.database.tables());
    return rows;
  }

  /** Token sets that end soon; returns each once. */
  async takeWarnings(unit: UnitOfWork, limit: number): Promise<TokenSetRow[]> {
    const { rows } = await sql<TokenSetRow>`
      update token_set set warn_at = null
      where id in (
        select id from token_set where warn_at <= now() order by warn_at limit ${limit} for update skip locked)
      returning *`.execute(unit.tables());
    return rows;
  }

  /** Milliseconds until the next is due. */
  async untilDue(): Promise<number | undefined> {
    const { rows } = await sql<{ wait: number | null }>`
      select extract(epoch from least(
        (select min(greatest(refresh_at, retry_at)) from token_set
          where refresh_at is not null and is_renewable and state <> 'needs_reauth' and ${IN_USE} and holder is null),
        (select min(warn_at) from token_set where warn_at is not null)) - now())::float8 * 1000 as wait`.execute(
      this.database.tables(),
    );
    return rows[0]?.wait ?? undefined;
  }

  /** Replaces the tokens that had this revision; nothing where they have another one by now. */
  async replace(
    unit: UnitOfWork,
    { id, revision }: Pick<TokenSetRow, 'id' | 'revision'>,
    tokens: TokenSet,
    pauseSeconds = 0,
  ): Promise<TokenSetRow | undefined> {
    const row = await this.lock(unit, id);
    const opened = row?.revision === revision ? await this.open(row, unit) : undefined;
    if (!row || !opened) return undefined;
    const { organization_id } = row;
    const owner = { place: PLACE, id: row.secret_id, organization_id };
    await this.vault.replace(unit, owner, encode(tokens), opened.revision);
    const { columns, values } = toTimes(tokens);
    await sql`
      update token_set set revision = revision + 1, state = 'active', reason = null, ${this.rows.released}, failures = 0,
        retry_at = now() + make_interval(secs => ${pauseSeconds}), scopes = ${[...tokens.scopes]}::text[], is_renewable = ${isRenewable(tokens)},
        updated_at = now(), (${columns}) = row(${values})
      where id = ${id}`.execute(unit.tables());
    await this.publish(unit, id);
    return row;
  }

  /** Ends a renewal that failed for now; nothing where it is not this process's any more. */
  async putOff(
    unit: UnitOfWork,
    { id, revision }: Pick<TokenSetRow, 'id' | 'revision'>,
    { state, reason, seconds }: { state: TokenSetState; reason: string | null; seconds: number },
  ): Promise<TokenSetState | undefined> {
    const { rows } = await sql<{ before: TokenSetState }>`
      with before as (select state from token_set where id = ${id} for update)
      update token_set set ${this.rows.released}, state = ${state}, reason = ${reason},
        failures = failures + case when ${reason}::text is null then 0 else 1 end,
        retry_at = now() + make_interval(secs => ${seconds}), updated_at = now()
      from before where id = ${id} and revision = ${revision} and ${this.rows.isOurs}
      returning before.state as before`.execute(unit.tables());
    await this.publish(unit, id);
    return rows[0]?.before;
  }

  /** The grant is over. Nothing is deleted; false where others have replaced the tokens, or said so. */
  async lose(
    unit: UnitOfWork,
    { id, revision }: Pick<TokenSetRow, 'id' | 'revision'>,
    reason: string,
  ): Promise<boolean> {
    const { rows } = await sql`
      update token_set set ${this.rows.released}, state = 'needs_reauth', reason = ${reason}, warn_at = null,
        updated_at = now()
      where id = ${id} and revision = ${revision} and state <> 'needs_reauth' and (holder is null or ${this.rows.isOurs})
      returning 1`.execute(unit.tables());
    await this.publish(unit, id);
    return rows.length > 0;
  }

  /** Noted once a minute. */
  async noteUse(id: string): Promise<void> {
    await sql`
      update token_set set last_used_at = now()
      where id = ${id} and coalesce(last_used_at < now() - interval '1 minute', true)`.execute(
      this.database.tables(),
    );
  }

  /** Releases claims of dead processes, and claims of this one that it has forgotten. */
  async releaseOrphaned(isKnown: (id: string) => boolean): Promise<string[]> {
    const forgotten = await this.rows.forgotten(this.database, isKnown);
    const { rows } = await sql<{ id: string }>`
      update token_set set ${this.rows.released} where ${this.rows.isOrphaned} or ${forgotten}
      returning id`.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }

  async delete(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const { rows } = await sql<{ id: string; secret_id: string }>`
      delete from token_set where id = any(${[...ids]}::uuid[]) returning id, secret_id`.execute(
      unit.tables(),
    );
    const secrets = rows.map(row => row.secret_id);
    if (secrets.length > 0) await this.vault.remove(unit, secrets);
    for (const { id } of rows) await this.publish(unit, id);
  }

  private async publish(unit: UnitOfWork, id: string): Promise<void> {
    await sql`select ${notifyTopic(connectionTopic(id))}, ${notifyTopic(TOKENS_DUE)}`.execute(unit.tables());
  }
}

const IN_USE = sql`last_used_at > now() - ${IDLE}`;
const DUE = sql`refresh_at <= now() and is_renewable and state <> 'needs_reauth' and ${IN_USE}`;

const isRenewable = ({ refreshToken, isRenewable = false }: TokenSet): boolean =>
  isRenewable || refreshToken !== undefined;

function toTimes(tokens: TokenSet): { columns: RawBuilder<unknown>; values: RawBuilder<unknown> } {
  const { expiresIn, refreshExpiresIn } = tokens;
  const after = (seconds: number | undefined) =>
    seconds === undefined ? sql`null::timestamptz` : sql`now() + make_interval(secs => ${seconds}::float8)`;
  const margin = Math.min(MARGIN_SECONDS, (expiresIn ?? 0) / 10);
  const ends = isRenewable(tokens) ? refreshExpiresIn : expiresIn;
  return {
    columns: sql`fresh_until, access_expires_at, refresh_expires_at, refresh_at, warn_at`,
    values: sql`${after(expiresIn === undefined ? undefined : expiresIn - margin)}, ${after(expiresIn)},
      ${after(refreshExpiresIn)},
      ${expiresIn === undefined || !isRenewable(tokens) || tokens.isOnDemand ? after(undefined) : sql`now() + ${EARLY} * make_interval(secs => ${expiresIn}::float8)`},
      ${after(ends !== undefined && ends > WARN_SECONDS ? ends - WARN_SECONDS : undefined)}`,
  };
}
