import { setMaxListeners } from 'node:events';
import {
  BeforeApplicationShutdown,
  Injectable,
  OnApplicationBootstrap,
  OnApplicationShutdown,
} from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId } from '../database/index.js';
import { Log } from '../log/index.js';
import { defineTopic, type Peer, type TopicKind, Topics } from '../topics/index.js';
import { HeartbeatPool } from './heartbeat-pool.js';
import { LeasedRows, type LeaseNames } from './leased-rows.js';
import { hasEnded, type LocalProcess, thisProcess } from './local-process.js';

const HEARTBEAT_MS = 2_000;
/** A process whose last heartbeat is older has lost its leases. */
const LOST_SECONDS = 15;
/** After so long without a heartbeat a process gives up its leases: well before others take them over. */
const EXPIRY_MS = 10_000;
/** How old the last heartbeat may be for a process to claim something. */
const FRESH_MS = 5_000;
/**
 * Heartbeats in a row after which a process judges others, and between two times it does: after the database was away,
 * all have had one by then.
 */
const ROUND = 3;
/** Published when a process is lost, as is everything then. */
const PROCESS_LOST = defineTopic('process-lost')();

interface Heartbeat {
  readonly is_new: boolean;
  /** All other processes. */
  readonly others: Peer[] | null;
  /** Other processes of this machine. */
  readonly neighbours: Neighbour[] | null;
}

type Neighbour = Pick<LocalProcess, 'pid' | 'started'> & { readonly id: string };

/**
 * What this process holds until it releases it or is gone. All leases of a process live by one heartbeat, its row in
 * `process`; leased rows refer to that row. See README.md.
 */
@Injectable()
export class Leases implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  /** The id of this process. */
  readonly processId = newId();
  private readonly local = thisProcess();
  private readonly handlers = new Map<string, () => Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> | undefined;
  private recovering: Promise<void> | undefined;
  private lastBeat = Number.NEGATIVE_INFINITY;
  private held = newHold();
  /** Signals of {@link signalOf}, by the kind of topic. */
  private readonly heldAlone = new Map<string, { readonly kind: TopicKind; hold: AbortController }>();
  /** Other processes at the last heartbeat; undefined before the first. */
  private others: readonly Peer[] | undefined;
  private expiry: NodeJS.Timeout | undefined;
  /** Other processes at the last heartbeat, with what is known of those of this machine. */
  private known = new Map<string, Neighbour | undefined>();
  private inARow = 0;
  private isEnding = false;

  constructor(
    private readonly database: Database,
    private readonly heartbeats: HeartbeatPool,
    private readonly topics: Topics,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.heartbeat();
    await this.recoverAll();
    this.topics.subscribe(PROCESS_LOST, () => {
      if (this.inARow >= ROUND) void this.recoverAll();
    });
    this.timer = setInterval(() => {
      this.beating ??= this.beat().finally(() => {
        this.beating = undefined;
      });
    }, HEARTBEAT_MS).unref();
  }

  /** No further recovery begins: it would need the database while that is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isEnding = true;
    await this.recovering;
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
    clearTimeout(this.expiry);
  }

  /** SQL about the rows of a table that processes hold. */
  rows(table: string, names: LeaseNames = {}): LeasedRows {
    return new LeasedRows(this.processId, table, names);
  }

  /**
   * Calls `handler` when this process starts, when a process was lost, and every few seconds: it takes care of whatever
   * is held by a process that is gone. All processes do, at the same time.
   */
  recover(kind: string, handler: () => Promise<void>): void {
    this.handlers.set(kind, handler);
  }

  /** Which of these processes are gone; of this machine, also one that ended a moment ago. */
  async gone(ids: Iterable<string>): Promise<Set<string>> {
    const gone = new Set(ids);
    if (gone.size === 0) return gone;
    const { rows } = await sql<Neighbour & { is_local: boolean | null }>`
      select id, pid, started, machine = ${this.local.machine} as is_local from process
      where id = any(${[...gone]}::uuid[])`.execute(this.database.tables());
    const ended = await this.removeEnded(rows.filter(({ is_local }) => is_local));
    for (const { id } of rows) if (!ended.includes(id)) gone.delete(id);
    return gone;
  }

  /** Whether another process was there at the last heartbeat, and has not ended since where it is one of this machine. */
  isThere(id: string): boolean {
    if (!this.isFresh || !this.known.has(id)) return false;
    const neighbour = this.known.get(id);
    return !neighbour || !hasEnded(neighbour);
  }

  /** Sends a heartbeat unless the last one is recent: before a claim, which an expired process may not make. */
  async requireFresh(): Promise<void> {
    if (!this.isFresh) await this.heartbeat();
  }

  get isFresh(): boolean {
    return performance.now() - this.lastBeat < FRESH_MS;
  }

  /**
   * Aborted when this process had no heartbeat for so long that others may soon take over its leases: its runs and sandboxes
   * end. A new signal replaces it with the next heartbeat.
   */
  get signal(): AbortSignal {
    return this.held.signal;
  }

  /**
   * As {@link signal}, for what only processes that listen to `kind` take over. Not aborted while this process {@link isAlone}.
   */
  signalOf(kind: TopicKind): AbortSignal {
    const held = this.heldAlone.get(kind.kind) ?? { kind, hold: newHold() };
    this.heldAlone.set(kind.kind, held);
    if (this.signal.aborted && !this.isAlone(kind)) held.hold.abort(this.signal.reason);
    return held.hold.signal;
  }

  /**
   * Whether no other process listened to `kind` at the last heartbeat, and none said hello since. One that starts while this
   * process does not reach the database is not known.
   */
  isAlone({ kind }: TopicKind): boolean {
    if (this.topics.hasNewPeers) return false;
    return this.others?.every(({ listens_to }) => listens_to !== null && !listens_to.includes(kind)) ?? false;
  }

  private async beat(): Promise<void> {
    const isLate = !this.isFresh;
    try {
      await this.heartbeat();
      this.inARow = isLate ? 1 : this.inARow + 1;
      if (this.inARow % ROUND === 0) await this.round();
    } catch (error) {
      this.inARow = 0;
      // The service closes the connection pool before it ends this timer. A real outage shows when the leases expire.
      if (!this.isEnding) this.log.warn({ err: error }, 'heartbeat failed');
    }
  }

  /** Waits for no disk: what is lost with the database server is given again at once. */
  private async heartbeat(): Promise<void> {
    const asked = performance.now();
    const found = this.topics.expectPeers();
    const { machine, pid, started } = this.local;
    const statement = sql<Heartbeat>`
      with quick as (select set_config('synchronous_commit', 'off', true) as setting)
      insert into process (id, seen_at, machine, pid, started)
      select ${this.processId}, now(), ${machine}, ${pid}, ${started} from quick
      on conflict (id) do update set seen_at = excluded.seen_at
      returning xmax = 0 as is_new, (
        select json_agg(json_build_object('id', id, 'listens_to', listens_to)) from process other
        where other.id <> ${this.processId}) as others, (
        select json_agg(json_build_object('id', id, 'pid', pid, 'started', started)) from process neighbour
        where neighbour.machine = ${machine} and neighbour.id <> ${this.processId}) as neighbours`;
    const [row] = await this.heartbeats.execute<Heartbeat>(statement.compile(this.database.tables()));
    this.extend(asked);
    if (!row) return;
    this.others = row.others ?? [];
    found(this.others);
    const neighbours = row.neighbours ?? [];
    this.known = new Map(
      this.others.map(({ id }) => [id, neighbours.find(neighbour => neighbour.id === id)]),
    );
    // To others it was not there before: they may have published nothing to it.
    if (row.is_new) this.topics.announce(this.processId);
    await this.removeEnded(neighbours);
  }

  private extend(asked: number): void {
    this.lastBeat = asked;
    if (this.held.signal.aborted) this.held = newHold();
    for (const held of this.heldAlone.values()) if (held.hold.signal.aborted) held.hold = newHold();
    clearTimeout(this.expiry);
    this.expiry = setTimeout(() => this.expire(), asked + EXPIRY_MS - performance.now()).unref();
  }

  private expire(): void {
    this.log.error(
      {},
      'no heartbeat reached the database: the leases of this process expire, others may take them over',
    );
    const reason = new Error('This process is out of touch with the database');
    Object.assign(reason, { code: 'ECONNABORTED' });
    this.held.abort(reason);
    for (const { kind, hold } of this.heldAlone.values()) if (!this.isAlone(kind)) hold.abort(reason);
  }

  private async round(): Promise<void> {
    await this.remove(sql`seen_at < now() - ${LOST_SECONDS} * interval '1 second'`);
    await this.recoverAll();
  }

  private async removeEnded(neighbours: readonly Neighbour[]): Promise<string[]> {
    const ended = neighbours.filter(hasEnded).map(({ id }) => id);
    if (ended.length > 0) await this.remove(sql`id = any(${ended}::uuid[])`);
    return ended;
  }

  /** It may have committed something without publishing it: everyone looks. */
  private async remove(which: ReturnType<typeof sql>): Promise<void> {
    const { rows } = await sql`delete from process where ${which} returning id`.execute(
      this.database.tables(),
    );
    if (rows.length > 0) this.topics.publishEverything();
  }

  private recoverAll(): Promise<void> {
    this.recovering ??= this.runHandlers().finally(() => {
      this.recovering = undefined;
    });
    return this.recovering;
  }

  private async runHandlers(): Promise<void> {
    for (const [kind, handler] of this.handlers)
      try {
        if (!this.isEnding) await handler();
      } catch (error) {
        this.log.warn({ err: error, kind }, 'recovery failed; it is tried again');
      }
  }
}

function newHold(): AbortController {
  const hold = new AbortController();
  setMaxListeners(0, hold.signal);
  return hold;
}
