import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId, type UnitOfWork } from '../../platform/database/index.js';
import { type LeasedRows, Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { defineTopic, Subscription, Topics } from '../../platform/topics/index.js';

/** Whose calls to which provider, and how many of everybody's it is given at once. */
export interface SlotRequest {
  readonly provider: string;
  readonly organizationId: string;
  readonly limit: number;
}

/** Told when a call that waits may look whether it is let in. */
const slotTopic = defineTopic('model-slot');

/**
 * Lets so many calls to a provider through at once, over all processes that share the database. Those who wait are let in
 * turn by turn among their organizations, and in each in the order in which they came. What a process had is
 * free as soon as it is gone.
 */
@Injectable()
export class ModelSlots implements OnApplicationShutdown {
  /** The calls of this process that wait or are let in, with the limit that they go by. */
  private readonly mine = new Map<string, SlotRequest>();
  private readonly leaving = new Set<Promise<void>>();
  /** By provider: when the last of this process has come or left. */
  private readonly turns = new Map<string, Promise<void>>();
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {
    this.rows = leases.rows('model_slot');
    leases.recover('model-slot', () => this.clear());
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.leaving);
  }

  /**
   * Resolves, when there is room, with what must be called on the way out, any number of times. `onWait` is called when there
   * is none yet. Throws the reason of `signal` when that is aborted.
   */
  async enter(request: SlotRequest, signal: AbortSignal, onWait: () => void): Promise<() => void> {
    signal.throwIfAborted();
    const id = newId();
    const wakeUp = new Subscription(this.topics, slotTopic(id));
    this.mine.set(id, request);
    try {
      let isIn = await this.come(id, request);
      if (!isIn) onWait();
      while (!isIn) {
        await wakeUp.wait(signal);
        signal.throwIfAborted();
        isIn = await this.come(id, request);
      }
      return () => this.leave(id);
    } catch (error) {
      this.leave(id);
      throw error;
    } finally {
      wakeUp.close();
    }
  }

  /** Whether the call is let in; it waits in its organization's line from the first time on. */
  private come(id: string, request: SlotRequest): Promise<boolean> {
    const { provider, organizationId } = request;
    return this.inOrder(request, async unit => {
      const { rows } = await sql<{ entered: boolean }>`
        select entered from model_slot where id = ${id}`.execute(unit.tables());
      if (rows[0]?.entered) return true;
      // Each in its organization's next round, but in none that is over: who was not here has no turns to make up for.
      await sql`
        insert into model_slot (id, provider, organization_id, holder, round)
        select ${id}, ${provider}, ${organizationId}, ${this.leases.processId}, greatest(
          max(round) filter (where organization_id = ${organizationId}) + 1, max(round) filter (where entered), min(round), 0)
        from model_slot where provider = ${provider}
        on conflict do nothing`.execute(unit.tables());
      return (await this.admit(unit, request)).includes(id);
    });
  }

  /** Frees the place, or gives up waiting for one, and lets the next in. */
  private leave(id: string): void {
    const request = this.mine.get(id);
    if (!request) return;
    this.mine.delete(id);
    const left = this.inOrder(request, async unit => {
      await sql`delete from model_slot where id = ${id}`.execute(unit.tables());
      await this.admit(unit, request);
    })
      // The next round clears it away.
      .catch((error: unknown) => this.log.warn({ err: error }, 'a place at a model provider is freed later'))
      .finally(() => this.leaving.delete(left));
    this.leaving.add(left);
  }

  /** Releases the slots of dead processes, and what this one could not release. */
  private async clear(): Promise<void> {
    const forgotten = await this.rows.forgotten(this.database, id => this.mine.has(id));
    const { rows } = await sql<{ provider: string }>`
      delete from model_slot where ${this.rows.isOrphaned} or ${forgotten}
      returning provider`.execute(this.database.tables());
    const freed = new Set(rows.map(({ provider }) => provider));
    if (freed.size === 0) return;
    // Everybody goes by their own limit: the first in line looks for itself, and lets in whom there is room for.
    this.topics.publish(...(await this.firstOf([...freed])).map(id => slotTopic(id)));
  }

  private async firstOf(providers: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select distinct on (provider) id from model_slot where provider = any(${providers}::text[]) and not entered
      order by provider, round, number`.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }

  /** Only one at a time comes or leaves; those of this process wait for each other without a connection. */
  private inOrder<T>({ provider }: SlotRequest, work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
    const turn = (this.turns.get(provider) ?? Promise.resolve()).then(() =>
      this.database.transaction(async unit => {
        await sql`select pg_advisory_xact_lock(hashtext(${`model_slot ${provider}`}))`.execute(unit.tables());
        return work(unit);
      }),
    );
    this.turns.set(
      provider,
      turn.then(
        () => undefined,
        () => undefined,
      ),
    );
    return turn;
  }

  /** Lets in as many as there is room for; returns which. */
  private async admit(unit: UnitOfWork, { provider, limit }: SlotRequest): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      update model_slot set entered = true where id in (
        select id from model_slot where provider = ${provider} and not entered order by round, number
        limit greatest(0, ${limit}::int - (
          select count(*) from model_slot where provider = ${provider} and entered)))
      returning id`.execute(unit.tables());
    const ids = rows.map(({ id }) => id);
    this.topics.publishAfterCommit(unit, ...ids.map(id => slotTopic(id)));
    return ids;
  }
}
