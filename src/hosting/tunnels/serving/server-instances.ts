import { setMaxListeners } from 'node:events';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Leases } from '../../../platform/leases/index.js';
import { Subscription, TopicCache, Topics } from '../../../platform/topics/index.js';
import { type InstanceRow, InstancesStore } from '../records/instances.store.js';
import { type ServerRow, ServersStore, serverTopic } from '../records/servers.store.js';

/** How long requests wait for a starting server, and how many per server. */
const HOLD_MS = 30_000;
const MAX_HELD = 1_000;
/** How long to wait for the recorded end of an unreachable process: here, and on lost processes. */
const END_MS = 2_000;
const LOST_MS = 20_000;
/** Longer exchanges are watched. */
const LONG_MS = 1_000;
/** Interval at which unread output of an ended server is checked. */
const UNREAD_MS = 2_000;
const MAX_SERVERS = 10_000;
const TTL_MS = 10 * 60_000;

export interface ReadyInstance {
  readonly server: ServerRow;
  readonly instance: InstanceRow;
}

/** `own`: the program ended by itself. */
export type InstanceEnd = 'own' | 'asked';

type Standing = { readonly server: ServerRow; readonly instance: InstanceRow | undefined };

/** `full`: too many requests wait; `late`: the server was not ready in time. */
export type NotReadyReason = 'stopped' | 'failed' | 'crashed' | 'late' | 'full' | 'gone';

export class NotReady extends Error {
  constructor(
    readonly why: NotReadyReason,
    readonly retryAfterSeconds?: number,
  ) {
    super(`The server does not answer: ${why}`);
  }
}

/** Finds the running instance of a server. Requests for a sleeping or starting one wait here. */
@Injectable()
export class ServerInstances {
  private readonly standings: TopicCache<Standing | null>;
  private readonly held = new Map<string, number>();

  constructor(
    private readonly servers: ServersStore,
    private readonly instances: InstancesStore,
    private readonly leases: Leases,
    private readonly topics: Topics,
  ) {
    this.standings = new TopicCache(topics, [serverTopic], { max: MAX_SERVERS, ttlMs: TTL_MS });
  }

  /**
   * Waits while the server starts, and wakes a sleeping one. `gone` aborts the wait, and is called on demand. Throws {@link
   * NotReady}.
   */
  async ready(serverId: string, gone: () => AbortSignal): Promise<ReadyInstance> {
    const standing = await this.look(serverId);
    const ready = standing && toReady(standing);
    return ready ?? this.hold(serverId, gone());
  }

  /** How an unreachable process ended; waits a moment for that. Undefined if it continues. */
  async findEnd({ instance, server }: ReadyInstance, signal: AbortSignal): Promise<InstanceEnd | undefined> {
    const hasEnded = await this.hasEnded({ instance, server }, signal);
    if (!hasEnded) return undefined;
    return (await this.instances.find(instance.id))?.exit ? 'own' : 'asked';
  }

  /**
   * Calls `onEnd` if the exchange outlives its process, after the client has read what was sent. Returns a function that ends
   * the watch.
   */
  watchEnd({ instance, server }: ReadyInstance, client: Writable, onEnd: () => void): () => void {
    // What this process runs closes its connections when it ends.
    if (instance.holder === this.leases.processId) return () => undefined;
    const over = new AbortController();
    const begin = async () => {
      await this.outlived({ instance, server }, over.signal);
      while (!over.signal.aborted) {
        await sleep(UNREAD_MS, undefined, { signal: over.signal });
        if (client.writableLength === 0) onEnd();
      }
    };
    // Aborted when the exchange is over.
    const timer = setTimeout(() => void begin().catch(() => undefined), LONG_MS).unref();
    return () => {
      clearTimeout(timer);
      over.abort();
    };
  }

  /** Resolves when the process has ended, or `over` is aborted. */
  private async outlived({ instance, server }: ReadyInstance, over: AbortSignal): Promise<void> {
    while (!over.aborted)
      try {
        await this.watch(server.id, over, async standing => {
          if (over.aborted) return true;
          if (standing?.instance?.id === instance.id) return undefined;
          const { state = 'ended' } = (await this.instances.find(instance.id)) ?? {};
          return state === 'ended' || undefined;
        });
        return;
      } catch {
        // The database is away.
        await sleep(UNREAD_MS, undefined, { signal: over });
      }
  }

  private async hasEnded({ instance, server }: ReadyInstance, signal: AbortSignal): Promise<boolean> {
    const isOurs = instance.holder === this.leases.processId;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(isOurs ? END_MS : LOST_MS)]);
    return this.watch(server.id, limit, async standing => {
      const ready = standing && toReady(standing);
      if (ready?.instance.id !== instance.id) return true;
      if (!limit.aborted) return undefined;
      // While the database is away, what is kept may be outdated: throws, and the visitor is told to come back.
      await this.servers.find(server.id);
      return false;
    });
  }

  private async hold(serverId: string, signal: AbortSignal): Promise<ReadyInstance> {
    const count = this.held.get(serverId) ?? 0;
    if (count >= MAX_HELD) throw new NotReady('full', 5);
    this.held.set(serverId, count + 1);
    const started = performance.now();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(HOLD_MS)]);
    try {
      return await this.watch(serverId, limit, async standing => {
        if (!standing) throw new NotReady('gone');
        const ready = toReady(standing);
        if (ready) return ready;
        signal.throwIfAborted();
        if (limit.aborted) throw new NotReady('late', 5);
        if (standing.server.state === 'sleeping') await this.servers.wake(serverId);
        else refuseIfDown(standing.server, HOLD_MS - (performance.now() - started));
        return undefined;
      });
    } finally {
      const left = (this.held.get(serverId) ?? 1) - 1;
      if (left > 0) this.held.set(serverId, left);
      else this.held.delete(serverId);
    }
  }

  /** Calls `decide` again when the server changes or `limit` is aborted, until it returns a value. */
  private async watch<T>(
    serverId: string,
    limit: AbortSignal,
    decide: (standing: Standing | null) => Promise<T | undefined>,
  ): Promise<T> {
    setMaxListeners(0, limit);
    const changed = new Subscription(this.topics, serverTopic(serverId));
    try {
      for (;;) {
        const decided = await decide(await this.look(serverId));
        if (decided !== undefined) return decided;
        await changed.wait(limit);
      }
    } finally {
      changed.close();
    }
  }

  private look(serverId: string): Promise<Standing | null> {
    return this.standings.get(serverId, async () => {
      const [server, instance] = await Promise.all([
        this.servers.find(serverId),
        this.instances.current(serverId),
      ]);
      return server ? { server, instance } : null;
    });
  }
}

/** With `overlap`, the previous instance answers until its successor is ready. */
function toReady({ server, instance }: Standing): ReadyInstance | undefined {
  if (instance?.state !== 'running') return undefined;
  const isLatest = server.state === 'running' && instance.generation === server.generation;
  const isReplaced = server.state === 'starting' && server.overlap;
  return isLatest || isReplaced ? { server, instance } : undefined;
}

/** Throws if the server will not run within `leftMs`. */
function refuseIfDown({ state, next_attempt_at: next }: ServerRow, leftMs: number): void {
  if (state === 'stopped' || state === 'failed') throw new NotReady(state);
  if (state !== 'crashed') return;
  const inMs = next === null ? 0 : new Date(next).getTime() - Date.now();
  if (inMs > leftMs) throw new NotReady('crashed', Math.ceil(inMs / 1000));
}
