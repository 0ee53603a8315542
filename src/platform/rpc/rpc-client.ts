import { setMaxListeners } from 'node:events';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { beforeSideEffect, newId } from '../database/index.js';
import { Leases } from '../leases/index.js';
import { Log } from '../log/index.js';
import { Subscription, Topics } from '../topics/index.js';
import {
  CallLost,
  callTopic,
  messageOf,
  NotHere,
  type RpcHooks,
  retryOutages,
  serverTopic,
  unwrap,
} from './message.js';
import { RpcStore } from './rpc.store.js';

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);

/**
 * Calls another process, which holds something such as a live shell. The two have the database alone in common: a call is
 * a row, its output are rows, and topics wake both.
 */
@Injectable()
export class RpcClient implements OnModuleInit {
  /** Ids of the calls of this process. */
  private readonly calls = new Set<string>();

  constructor(
    private readonly store: RpcStore,
    private readonly topics: Topics,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.leases.recover('rpc-call', () => this.store.removeOrphaned(id => this.calls.has(id)));
  }

  /**
   * What the handler of that process returns. Throws what it threw; {@link NotHere} where nothing was done, {@link CallLost}
   * where the process is gone.
   */
  async call(
    processId: string,
    method: string,
    input: object,
    { signal, onOutput }: RpcHooks,
  ): Promise<unknown> {
    beforeSideEffect();
    const id = newId();
    const subscription = new Subscription(this.topics, callTopic(id));
    const cancel = () => void this.cancel(id, processId);
    this.calls.add(id);
    try {
      const message = messageOf({ input, streams: onOutput !== undefined });
      await this.store.add({ id, method, input: message }, processId);
      this.topics.publish(serverTopic(processId));
      if (signal.aborted) cancel();
      signal.addEventListener('abort', cancel, { once: true });
      return await this.follow(id, processId, subscription, onOutput);
    } finally {
      signal.removeEventListener('abort', cancel);
      subscription.close();
      this.calls.delete(id);
      void this.remove(id);
    }
  }

  private async follow(
    id: string,
    processId: string,
    subscription: Subscription,
    onOutput: RpcHooks['onOutput'],
  ): Promise<unknown> {
    let last = 0;
    let isGone = false;
    for (;;) {
      const now = await retryOutages(() => this.store.look(id, last));
      if (!now) throw new CallLost();
      if (now.last > last) onOutput?.(now.output.toString());
      if (now.state === 'refused') throw new NotHere();
      if (now.result) return unwrap(now.result);
      if (isGone) throw (await this.store.remove(id)) === 'waiting' ? new NotHere() : new CallLost();
      // What it wrote before it was gone is looked at once more.
      if (now.last === last) isGone = (await retryOutages(() => this.leases.gone([processId]))).size > 0;
      last = now.last;
      if (!isGone) await subscription.wait(NEVER);
    }
  }

  private async cancel(id: string, processId: string): Promise<void> {
    try {
      await this.store.cancel(id);
      this.topics.publish(serverTopic(processId));
    } catch (error) {
      this.log.warn({ err: error }, 'a call to another process could not be cancelled');
    }
  }

  /** Where the database is away, the row is removed when that is back. */
  private async remove(id: string): Promise<void> {
    try {
      await this.store.remove(id);
    } catch (error) {
      this.log.warn({ err: error }, 'removing a call failed; trying again later');
    }
  }
}
