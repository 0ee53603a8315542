import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { roleOf } from '../../../platform/access/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, pageById } from '../../../platform/dto/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { type LeasedRows, Leases } from '../../../platform/leases/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';
import type { Answer } from '../channels/outgoing.js';
import type { EndpointRow } from './endpoints.store.js';

/** Published when a message may be due. */
export const WEBHOOKS_TOPIC = defineTopic('webhook-messages')();
const MAX_PER_ENDPOINT = 5;
const FAILING_DAYS = 5;
export const KEPT_DAYS = 30;
const SWEEP_MS = 3_600_000;

export type NewMessage = Pick<
  Row<'webhook_message'>,
  'endpoint_id' | 'event_key' | 'type' | 'workspace_id' | 'body'
>;

/** A message that this process sends now. */
export interface ClaimedMessage
  extends Row<'webhook_message'>,
    Pick<EndpointRow, 'url' | 'secret' | 'previous_secret'> {
  /** Whether the webhook may still receive it. */
  readonly may_know: boolean;
}

/** How an attempt went. */
export interface Outcome extends Answer {
  readonly durationMs: number;
}

export type AttemptRow = Row<'webhook_attempt'> & Pick<Row<'webhook_message'>, 'type' | 'state' | 'next_at'>;

/** What is sent to webhooks: each message until it is sent or has failed, and every attempt. */
@Injectable()
export class MessagesStore {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly leases: Leases,
    private readonly topics: Topics,
  ) {
    this.rows = leases.rows('webhook_message', { alias: 'm' });
  }

  /** Adds a message that is due at once, unless the endpoint has it already; returns its id. */
  async add(unit: UnitOfWork, message: NewMessage): Promise<string | undefined> {
    const row = await unit
      .tables()
      .insertInto('webhook_message')
      .values({
        ...message,
        id: newId(),
        state: 'pending',
        attempts: 0,
        next_at: sql<string>`now()`,
        created_at: sql<string>`now()`,
      })
      .onConflict(conflict => conflict.columns(['endpoint_id', 'event_key']).doNothing())
      .returning('id')
      .executeTakeFirst();
    await this.topics.publishOnCommit(unit, WEBHOOKS_TOPIC);
    return row?.id;
  }

  /**
   * Claims messages that are due, at most so many, and of one endpoint so many that no more than five are under way. An attempt
   * whose process was lost is made again, and counts once.
   */
  async claim(limit: number): Promise<ClaimedMessage[]> {
    if (limit <= 0) return [];
    await this.leases.requireFresh();
    return this.database.transaction(async unit => {
      // First the endpoints alone: the statement after this one sees what those who had them before have claimed.
      const { rows: endpoints } = await sql<{ id: string }>`
        select e.id from webhook_endpoint e
        where e.state = 'enabled' and exists (select from webhook_message m
          where m.endpoint_id = e.id and m.state = 'pending' and m.next_at <= now() and ${this.rows.isFree})
          and ${this.hasRoom}
        limit ${limit} for no key update skip locked`.execute(unit.tables());
      if (endpoints.length === 0) return [];
      const { rows } = await sql<ClaimedMessage>`
        with due as (
          select due.id from unnest(${endpoints.map(({ id }) => id)}::uuid[]) e (id) cross join lateral (
            select m.id from webhook_message m
            where m.endpoint_id = e.id and m.state = 'pending' and m.next_at <= now() and ${this.rows.isFree}
            order by m.next_at
            limit greatest(0, ${MAX_PER_ENDPOINT} - (${this.underWay})) for no key update skip locked
          ) due limit ${limit}
        ), claimed as (
          update webhook_message m set ${this.rows.claimed}, attempts = m.attempts + (m.holder is null)::int
          from due where m.id = due.id returning m.*
        )
        select c.*, e.url, e.secret,
          case when e.previous_until > now() then e.previous_secret end as previous_secret,
          case when c.workspace_id is null then true
            when e.user_id is null then w.visibility <> 'private' and w.organization_id = e.organization_id
            else ${roleOf(sql`e.user_id`)} is not null end as may_know
        from claimed c join webhook_endpoint e on e.id = c.endpoint_id
        left join workspace w on w.id = c.workspace_id`.execute(unit.tables());
      return rows;
    });
  }

  /** Milliseconds until one is due that can be claimed; undefined where none waits. */
  async untilNext(): Promise<number | undefined> {
    const { rows } = await sql<{ ms: number | null }>`
      select extract(epoch from min(m.next_at) - now())::float8 * 1000 as ms
      from webhook_message m join webhook_endpoint e on e.id = m.endpoint_id
      where m.state = 'pending' and e.state = 'enabled' and ${this.rows.isFree}
        and (m.next_at > now() or ${this.hasRoom})`.execute(this.database.tables());
    return rows[0]?.ms ?? undefined;
  }

  /** Gives a message back whose attempt was not made. */
  async putBack(message: ClaimedMessage): Promise<void> {
    await sql`update webhook_message m set ${this.rows.released}, attempts = attempts - 1
      where ${this.isClaimedAs(message)}`.execute(this.database.tables());
  }

  /**
   * Gives back what this process holds but for these: where the answer to a claim or to an end was lost, it knows nothing of it.
   * They are due a little later each time, so that a message whose end cannot be saved does not flood its receiver.
   */
  async releaseOthers(ids: readonly string[]): Promise<void> {
    await sql`update webhook_message m set ${this.rows.released}, next_at = now() + make_interval(secs => 5 * attempts)
      where ${this.rows.isOurs} and id <> all(${[...ids]}::uuid[])`.execute(this.database.tables());
  }

  /** Writes down how an attempt went; after `retryMs` comes the next one. */
  async finish(
    unit: UnitOfWork,
    message: ClaimedMessage,
    { status, reason, durationMs }: Outcome,
    retryMs: number | undefined,
  ): Promise<void> {
    const { id, endpoint_id } = message;
    const state = reason === null ? 'sent' : retryMs === undefined ? 'failed' : 'pending';
    // A deletion of the webhook locks it first, too.
    await sql`select from webhook_endpoint where id = ${endpoint_id} for no key update`.execute(
      unit.tables(),
    );
    const next =
      state === 'pending' ? sql`now() + make_interval(secs => ${(retryMs ?? 0) / 1000})` : sql`null`;
    await sql`
      with attempt as (
        insert into webhook_attempt (id, endpoint_id, message_id, status, reason, duration_ms, created_at)
        select ${newId()}, endpoint_id, id, ${status}, ${reason}, ${durationMs}, now()
        from webhook_message where id = ${id}
      )
      update webhook_message m set state = ${state}, next_at = ${next}, ${this.rows.released},
        settled_at = case when ${state} <> 'pending' then now() end
      where ${this.isClaimedAs(message)}`.execute(unit.tables());
    if (reason === null)
      await sql`update webhook_endpoint set failing_since = null where id = ${endpoint_id} and failing_since is not null`.execute(
        unit.tables(),
      );
  }

  /** Fails a message that its webhook may not receive any more. */
  async drop(message: ClaimedMessage): Promise<void> {
    await sql`update webhook_message m set state = 'failed', next_at = null, settled_at = now(), ${this.rows.released}
      where ${this.isClaimedAs(message)}`.execute(this.database.tables());
  }

  /** Notes that an attempt failed; returns the endpoint where that disabled it. What waited for it can be recovered. */
  async noteFailure(unit: UnitOfWork, endpointId: string, isGone: boolean): Promise<EndpointRow | undefined> {
    const isOver = sql`(${isGone}::boolean or failing_since <= now() - make_interval(days => ${FAILING_DAYS}))`;
    const { rows } = await sql<EndpointRow>`
      update webhook_endpoint set failing_since = coalesce(failing_since, now()),
        state = case when ${isOver} then 'disabled' else state end,
        disabled_reason = case when ${isOver} then ${isGone ? 'gone' : 'failing'} end
      where id = ${endpointId} and state = 'enabled' returning *`.execute(unit.tables());
    const [endpoint] = rows;
    if (endpoint?.state !== 'disabled') return undefined;
    await sql`update webhook_message set state = 'failed', next_at = null, settled_at = now()
      where endpoint_id = ${endpointId} and state = 'pending' and holder is null`.execute(unit.tables());
    return endpoint;
  }

  /** Sends again what failed since then; returns how many. */
  async recover(unit: UnitOfWork, endpointId: string, since: Date): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      update webhook_message set state = 'pending', attempts = 0, next_at = now(), settled_at = null
      where endpoint_id = ${endpointId} and state = 'failed' and created_at >= ${since.toISOString()}`.execute(
      unit.tables(),
    );
    await this.topics.publishOnCommit(unit, WEBHOOKS_TOPIC);
    return Number(numAffectedRows);
  }

  /** Sends the message of an attempt again, at once, unless that is under way; returns its id. */
  async resend(unit: UnitOfWork, attemptId: string): Promise<string> {
    const { message_id } = await unit
      .tables()
      .selectFrom('webhook_attempt')
      .select('message_id')
      .where('id', '=', attemptId)
      .executeTakeFirstOrThrow();
    await sql`update webhook_message set state = 'pending', settled_at = null, next_at = now(),
        attempts = case when state = 'pending' then attempts else 0 end
      where id = ${message_id} and holder is null`.execute(unit.tables());
    await this.topics.publishOnCommit(unit, WEBHOOKS_TOPIC);
    return message_id;
  }

  /** Attempts of an endpoint, newest first. */
  attempts<Item>(endpointId: string, input: PageInput, view: (row: AttemptRow) => Item): Promise<Page<Item>> {
    const query = this.database
      .tables()
      .selectFrom('webhook_attempt as a')
      .innerJoin('webhook_message as m', 'm.id', 'a.message_id')
      .selectAll('a')
      .select(['m.type', 'm.state', 'm.next_at'])
      .where('a.endpoint_id', '=', endpointId);
    return pageById(query, input, view, { by: 'a.id', newestFirst: true });
  }

  @Chore('remove_webhook_messages', { everyMs: SWEEP_MS })
  async removeOld(): Promise<void> {
    await sql`delete from webhook_message where created_at < now() - make_interval(days => ${KEPT_DAYS})`.execute(
      this.database.tables(),
    );
  }

  /** Whether the message still has the claim that it was given. */
  private isClaimedAs({ id, attempts }: ClaimedMessage) {
    return sql`id = ${id} and attempts = ${attempts} and ${this.rows.isOurs}`;
  }

  private get underWay() {
    return sql`select count(*) from webhook_message h
      where h.endpoint_id = e.id and h.holder is not null and exists (select from process p where p.id = h.holder)`;
  }

  private get hasRoom() {
    return sql`(${this.underWay}) < ${MAX_PER_ENDPOINT}`;
  }
}
