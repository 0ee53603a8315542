import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, visibleTo } from '../../../platform/access/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../../platform/dto/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';

type Queries = Pick<Database, 'tables'>;
/** Without its payload, which may be large. */
export type DeliveryRow = Omit<Row<'automation_delivery'>, 'sealed_payload'> & {
  /** It came with something, which is kept yet. */
  readonly has_payload: boolean;
};

/** Something that came in for an automation. */
export interface NewDelivery
  extends Pick<
    DeliveryRow,
    | 'workspace_id'
    | 'deployment_id'
    | 'trigger_id'
    | 'version'
    | 'kind'
    | 'key'
    | 'headers'
    | 'chain'
    | 'depth'
    | 'untrusted'
  > {
  readonly id?: string;
  readonly scheduled_for: Date | null;
  /** JSON; undefined where nothing came with it. */
  readonly payload: string | Uint8Array | undefined;
}

interface SeenKey {
  readonly id: string;
  readonly trigger_id: string;
  readonly key: string;
}

/** What became of a delivery. */
export type DeliveryEnd = Pick<DeliveryRow, 'state' | 'reason'> & {
  readonly run_id?: string | null;
  readonly held_until?: Date | null;
};

/** What is longer, once it is sealed, goes into its row by a statement of its own. */
const MAX_INLINE_BYTES = 64 * 1024;

/** Of a payload, what is read at a time. */
const PIECE_BYTES = 1024 * 1024;

const COLUMN_NAMES = [
  'd.id',
  'd.workspace_id',
  'd.deployment_id',
  'd.trigger_id',
  'd.version',
  'd.kind',
  'd.key',
  'd.state',
  'd.reason',
  'd.headers',
  'd.payload_bytes',
  'd.chain',
  'd.depth',
  'd.untrusted',
  'd.scheduled_for',
  'd.held_until',
  'd.received_at',
  'd.run_id',
] as const;
const HAS_PAYLOAD = sql<boolean>`d.sealed_payload is not null as has_payload`;
const COLUMNS = [...COLUMN_NAMES, sql<boolean>`d.sealed_payload is not null`.as('has_payload')] as const;

const bytesOf = (payload: string | Uint8Array): Buffer =>
  typeof payload === 'string'
    ? Buffer.from(payload)
    : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);

/** What came in, whether it led to a run or not. */
@Injectable()
export class DeliveriesStore {
  private readonly seal: Seal;

  constructor(
    private readonly database: Database,
    vault: Vault,
  ) {
    this.seal = vault.seal('automation.payload');
  }

  async add(unit: UnitOfWork, delivery: NewDelivery, end: DeliveryEnd): Promise<string> {
    const [id] = await this.addAll(unit, [{ delivery, end }]);
    return id as string;
  }

  /** Their ids, in the same order. */
  async addAll(
    unit: UnitOfWork,
    added: readonly { readonly delivery: NewDelivery; readonly end: DeliveryEnd }[],
  ): Promise<string[]> {
    if (added.length === 0) return [];
    const large: { id: string; sealed: Buffer }[] = [];
    const rows = added.map(({ delivery: { payload, id = newId(), ...row }, end }) => {
      const sealed = payload === undefined ? null : this.seal.close(bytesOf(payload), id);
      const isLarge = sealed !== null && sealed.length > MAX_INLINE_BYTES;
      if (isLarge) large.push({ id, sealed });
      return {
        ...row,
        id,
        state: end.state,
        reason: end.reason,
        run_id: end.run_id ?? null,
        held_until: end.held_until ?? null,
        sealed_payload: isLarge || sealed === null ? null : sealed.toString('base64'),
        payload_bytes: payload === undefined ? 0 : bytesOf(payload).length,
      };
    });
    await sql`
      insert into automation_delivery (id, workspace_id, deployment_id, trigger_id, version, kind, key, headers, chain, depth, untrusted,
        scheduled_for, held_until, state, reason, run_id, payload_bytes, sealed_payload, received_at)
      select id, workspace_id, deployment_id, trigger_id, version, kind, key, headers, chain, depth, untrusted,
        scheduled_for, held_until, state, reason, run_id, payload_bytes, decode(sealed_payload, 'base64'), now()
      from json_to_recordset(${JSON.stringify(rows)}::json) as t (id uuid, workspace_id uuid, deployment_id uuid, trigger_id uuid,
        version int, kind text, key text, headers jsonb, chain uuid[], depth int, untrusted boolean, scheduled_for timestamptz,
        held_until timestamptz, state text, reason text, run_id uuid, payload_bytes int, sealed_payload text)`.execute(
      unit.tables(),
    );
    for (const { id, sealed } of large)
      await sql`update automation_delivery set sealed_payload = ${sealed} where id = ${id}`.execute(
        unit.tables(),
      );
    return rows.map(({ id }) => id);
  }

  /** Writes down that a key was seen; the delivery that had it before, where one did. */
  async see(
    unit: UnitOfWork,
    triggerId: string,
    key: string,
    deliveryId: string,
  ): Promise<string | undefined> {
    const { rows } = await sql<{ delivery_id: string }>`
      insert into automation_seen (trigger_id, key, delivery_id, seen_at) values (${triggerId}, ${key}, ${deliveryId}, now())
      on conflict (trigger_id, key) do update set seen_at = automation_seen.seen_at
      returning delivery_id`.execute(unit.tables());
    const [seen] = rows;
    return seen?.delivery_id === deliveryId ? undefined : seen?.delivery_id;
  }

  /** The same of many keys, each given once; the deliveries whose keys were not seen before. */
  async seeAll(unit: UnitOfWork, seen: readonly SeenKey[]): Promise<ReadonlySet<string>> {
    const { rows } = await sql<{ delivery_id: string }>`
      insert into automation_seen (trigger_id, key, delivery_id, seen_at)
      select trigger_id, key, id, now() from unnest(${seen.map(({ trigger_id }) => trigger_id)}::uuid[],
        ${seen.map(({ key }) => key)}::text[], ${seen.map(({ id }) => id)}::uuid[]) as t (trigger_id, key, id)
      on conflict do nothing returning delivery_id`.execute(unit.tables());
    return new Set(rows.map(({ delivery_id }) => delivery_id));
  }

  /** A later delivery with a key counts from now on. */
  async seeInstead(unit: UnitOfWork, triggerId: string, key: string, deliveryId: string): Promise<void> {
    await sql`update automation_seen set delivery_id = ${deliveryId}, seen_at = now()
      where trigger_id = ${triggerId} and key = ${key}`.execute(unit.tables());
  }

  /** How many led to a run of a deployment within the last minute, without a schedule, a webhook or a person. */
  async lastMinute(unit: UnitOfWork, deploymentId: string): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from automation_delivery
      where deployment_id = ${deploymentId} and received_at > now() - interval '1 minute' and state = 'accepted'
        and (kind in ('file', 'notification') or (kind = 'manual' and depth > 0))`.execute(unit.tables());
    return rows[0]?.n ?? 0;
  }

  /** How many of a deployment were skipped within the last hour for one of these reasons. */
  async skippedLastHour(unit: UnitOfWork, deploymentId: string, reasons: readonly string[]): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from automation_delivery
      where deployment_id = ${deploymentId} and received_at > now() - interval '1 hour' and state = 'skipped'
        and reason = any(${[...reasons]}::text[])`.execute(unit.tables());
    return rows[0]?.n ?? 0;
  }

  find(id: string, within: Queries = this.database): Promise<DeliveryRow | undefined> {
    return within
      .tables()
      .selectFrom('automation_delivery as d')
      .select(COLUMNS)
      .where('d.id', '=', id)
      .executeTakeFirst();
  }

  /** What came with it, as JSON; undefined where nothing did, or it is not kept any more. */
  async payloadOf({ id, has_payload }: Pick<DeliveryRow, 'id' | 'has_payload'>): Promise<Buffer | undefined> {
    if (!has_payload) return undefined;
    const pieces: Buffer[] = [];
    // The driver takes a value apart in one go: of many megabytes, that would keep all others waiting.
    for (let from = 1; ; from += PIECE_BYTES) {
      const { rows } = await sql<{ piece: Buffer | null }>`
        select substring(sealed_payload from ${from}::int for ${PIECE_BYTES}::int) as piece
        from automation_delivery where id = ${id}`.execute(this.database.tables());
      const piece = rows[0]?.piece ?? null;
      if (piece === null) return undefined;
      pieces.push(piece);
      if (piece.length < PIECE_BYTES) return this.seal.open(Buffer.concat(pieces), id);
    }
  }

  list(
    actor: Actor,
    filter: PageInput & { workspace_id?: string; deployment_id?: string; state?: DeliveryRow['state'] },
  ): Promise<Page<DeliveryRow>> {
    const { workspace_id, deployment_id, state, ...page } = filter;
    let query = this.database
      .tables()
      .selectFrom('automation_delivery as d')
      .innerJoin(visibleTo<Row<'workspace'>>(actor).as('w'), 'w.id', 'd.workspace_id')
      .select(COLUMNS);
    if (workspace_id) query = query.where('d.workspace_id', '=', workspace_id);
    if (deployment_id) query = query.where('d.deployment_id', '=', deployment_id);
    if (state) query = query.where('d.state', '=', state);
    return selectPage(query, page, { by: 'd.id', newestFirst: true });
  }

  async update(unit: UnitOfWork, id: string, end: DeliveryEnd): Promise<void> {
    await unit
      .tables()
      .updateTable('automation_delivery')
      .set({ ...end, held_until: end.held_until?.toISOString() ?? null })
      .where('id', '=', id)
      .execute();
  }

  /** Whether a delivery of the last day led to no run for this reason. */
  async wasKeptBack(unit: UnitOfWork, deploymentId: string, reason: string): Promise<boolean> {
    const { rows } = await sql`
      select from automation_delivery where deployment_id = ${deploymentId} and state in ('skipped', 'held')
        and split_part(reason, ':', 1) = ${reason} and received_at > now() - interval '1 day' limit 1`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  /** Deliveries that were held until now, and whose deployments nothing else works on. */
  async takeHeld(unit: UnitOfWork, limit: number): Promise<DeliveryRow[]> {
    const { rows } = await sql<DeliveryRow>`
      with due as (
        select id from automation_deployment where id in (
          select deployment_id from automation_delivery where state = 'held' and held_until <= now()
          order by held_until limit ${limit})
        order by id for no key update skip locked)
      select ${sql.join(COLUMN_NAMES.map(name => sql.ref(name)))}, ${HAS_PAYLOAD} from automation_delivery d
        where d.deployment_id in (select id from due) and d.state = 'held' and d.held_until <= now()
        order by d.id limit ${limit}`.execute(unit.tables());
    return rows;
  }

  /** Milliseconds until one is due that is held. */
  async nextHeld(): Promise<number | undefined> {
    const { rows } = await sql<{ wait: number | null }>`
      select extract(epoch from min(held_until) - now())::float8 * 1000 as wait from automation_delivery
      where state = 'held'`.execute(this.database.tables());
    return rows[0]?.wait ?? undefined;
  }

  /** Removes what is old: keys, payloads, then the rows. */
  async removeOld(days: { seen: number; payload: number; filtered: number; row: number }): Promise<void> {
    const tables = this.database.tables();
    const before = (count: number) => sql`now() - make_interval(days => ${count})`;
    await sql`delete from automation_seen s using automation_trigger t
      where s.trigger_id = t.id and t.kind <> 'schedule' and s.seen_at < ${before(days.seen)}`.execute(
      tables,
    );
    await sql`update automation_delivery set sealed_payload = null
      where received_at < ${before(days.payload)} and sealed_payload is not null`.execute(tables);
    await sql`delete from automation_delivery where received_at < ${before(days.row)}
      or (state = 'filtered' and received_at < ${before(days.filtered)})`.execute(tables);
  }
}
